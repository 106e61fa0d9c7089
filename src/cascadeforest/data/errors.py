"""Errors that a user can fix; command lines print them as one line and exit with status 2."""

from pathlib import Path


class UserError(Exception):
    """A mistake of the user, or a missing resource outside the program.

    The message is one or a few complete sentences that name the place (file and key), the value and the remedy.
    """


class ConfigError(UserError):
    """A configuration file or data set file has a value that is not allowed."""


class DownloadError(UserError):
    """A file could not be copied or downloaded from any of its sources."""


class ChecksumError(UserError):
    """The checksum of a file differs from the one in its data set file."""


class CredentialsError(UserError):
    """The user's copy of a data set with credentialed access is missing."""


class DamagedFile(UserError):
    """The content of a stored file changed: it was truncated, edited or replaced by another file.

    Parameters
    ----------
    path : str or Path
        The damaged file; also the attribute `path`.
    fault : str
        Description of the fault, without a full stop.
    remedy : str
        Instructions for the user, in whole sentences.
    """

    def __init__(self, path: str | Path, fault: str, remedy: str) -> None:
        super().__init__(path, fault, remedy)  # exactly the arguments: an error is pickled between processes
        self.path = Path(path)

    def __str__(self) -> str:
        path, fault, remedy = self.args
        return f"{path}: {fault}. {remedy}"
