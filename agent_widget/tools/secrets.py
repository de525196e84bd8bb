"""Keeps secrets of the notebook out of what read-only tools tell a model."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "(hidden: its name says it is a secret)"

_SECRET_NAME: Final = re.compile(
    r"(?:^|[_\W])(?:api_?key|secret|token|passw(?:or)?d|passphrase|credentials?|private_?key)s?"
    r"(?:$|[_\W])",
    re.IGNORECASE,
)
_SECRET_TEXT: Final = re.compile(
    r"""
    \b(?:sk|pk|rk)-[\w-]{16,}                          # model providers
  | \bgh[pousr]_\w{20,} | \bgithub_pat_\w{20,}         # GitHub
  | \bAKIA[0-9A-Z]{16}\b                               # AWS
  | \bxox[abprs]-[\w-]{10,}                            # Slack
  | \bAIza[\w-]{30,}                                   # Google
  | \beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}            # JSON web tokens
  | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE,
)


def is_secret_name(name: object) -> bool:
    """True when ``name`` (of a variable, of a key) says that its value is a secret."""
    return isinstance(name, str) and _SECRET_NAME.search(name) is not None


def masked(text: str) -> str:
    """``text`` with what looks like a key or a private key replaced."""
    return _SECRET_TEXT.sub("(hidden: looks like a key)", text)
