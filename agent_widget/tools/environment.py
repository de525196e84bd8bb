r"""The environment of commands: the user's own, without keys.

A variable is left out when

- its name holds ``TOKEN``, ``SECRET``, ``PASSWORD``, ``PASSWD``, ``PASSPHRASE``, ``CREDENTIAL``
  or ``COOKIE``, or ``KEY``, ``PASS``, ``PWD`` or ``AUTH`` as a word at its end (``KEY`` anywhere:
  ``AWS_ACCESS_KEY_ID``), in any letter case;
- it is known to carry a key under another name (``DOCKER_AUTH_CONFIG``, ``SENTRY_DSN``, …);
- its value looks like a key, or is a URL with a password in it;
- it makes a shell run something before the command (``BASH_ENV``, exported functions).

What a command needs all the same is given to the tool with ``env=``. This keeps keys out of the
way of a command that prints its environment; it is no wall: a command runs as the user, and reads
the files the user can read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from .secrets import masked

_SECRET_NAME: Final = re.compile(
    r"""
    TOKEN(?!IZ) | SECRET | PASSWORD | PASSWD | PASSPHRASE | CREDENTIAL | COOKIE
  | (?:^|_)(?:API|ACCESS|PRIVATE)?KEYS?(?:_|$)
  | (?:^|_)PASS$ | (?<=_)PWD$ | _AUTH$ | CONNECTION_?STRING
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KNOWN: Final = frozenset({"APIKEY", "DOCKER_AUTH_CONFIG", "SENTRY_DSN", "NETRC"})
_PASSWORD_IN_URL: Final = re.compile(r"\w://[^/\s:@]*:[^/\s@]+@")
_STARTS_CODE: Final = re.compile(r"BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4")
_QUIET: Final = {
    # Nobody is there to turn a page or to answer.
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
    "TERM": "dumb",
}


def command_environment(
    environ: Mapping[str, str], added: Mapping[str, str] | None = None
) -> dict[str, str]:
    """``environ`` without keys, so set that programs wait for nobody, and ``added`` to it."""
    kept = {name: value for name, value in environ.items() if not is_withheld(name, value)}
    return {**kept, **_QUIET, **(added or {})}


def is_withheld(name: str, value: str) -> bool:
    """True when a command does not get the variable."""
    return (
        _SECRET_NAME.search(name) is not None
        or name.upper() in _KNOWN
        or _STARTS_CODE.fullmatch(name) is not None
        or _PASSWORD_IN_URL.search(value) is not None
        or masked(value) != value
    )
