"""Addresses as messages, logs and records show them: without passwords."""

import re

HIDDEN = "***"
_USER = re.compile(r"(\w://)[^\s/?#]*@")  # as far as the last @: a password may have one too
_SECRET = re.compile(
    r"([?&][^\s=&#]*(?:pass|token|secret|key|sig|auth|credential)[^\s=&#]*=)[^\s&#'\")]+", re.IGNORECASE
)


def without_passwords(text: str) -> str:
    """Hide user names, passwords and tokens in all addresses of a text.

    Parameters
    ----------
    text : str
        An address, or a message with addresses.

    Returns
    -------
    str
        The text with ``***`` in place of what stands before an ``@`` in an address, and in place of the value of every
        query parameter whose name sounds like a secret (``token``, ``key``, ``signature``, ...).

    Examples
    --------
    >>> without_passwords("HTTP 403 from https://me:secret@example.org/data?id=3&token=abc")
    'HTTP 403 from https://***@example.org/data?id=3&token=***'
    """
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _USER.sub(rf"\g<1>{HIDDEN}@", text))
