"""Errors that a user can mend; command lines print them as one line and exit with status 2."""


class UserError(Exception):
    """A mistake of the user or a missing outside thing.

    The message is one or a few complete sentences that name the place (file and key), the value and the remedy.
    """


class ConfigError(UserError):
    """A configuration or data set file says something that is not allowed."""


class DownloadError(UserError):
    """A file could be had from none of its places."""


class ChecksumError(UserError):
    """A file arrived with other bytes than its data set file promises."""


class CredentialsError(UserError):
    """A data set that only its owner may hand out is not where the user was asked to put it."""
