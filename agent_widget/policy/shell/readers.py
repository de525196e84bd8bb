"""Commands that only read, and read only what lies in the working directory."""

from __future__ import annotations

import re

from .files import Files
from .git import folder_of, reads_only
from .model import Command, Word
from .options import has_option
from .programs import (
    COMMANDING_VARIABLES,
    HARMLESS_SET,
    HARMLESS_VARIABLES,
    PRIVATE_VARIABLES,
    READERS,
)
from .wrappers import program_name

_POWERSHELL_READERS = frozenset(
    {"get-childitem", "get-content", "get-location", "write-output", "test-path", "get-date",
     "measure-object", "select-string", "get-filehash"}
)  # fmt: skip


def only_reads(command: Command, files: Files) -> bool:
    """True when ``command`` changes nothing and reads nothing outside the working directory."""
    if not variables_fine(command, named=True):
        return False
    if not command.words:
        return True
    name, args = program_name(command), command.words[1:]
    if name == "git":
        folder = folder_of(command.words)
        return reads_only(command.words) and (folder is None or files.inside(folder))
    if name in _POWERSHELL_READERS:
        return command.known and _inside(args, files)
    if name == "set":
        return all(HARMLESS_SET.fullmatch(word.text) for word in args)
    if name == "command":
        return command.known and re.fullmatch(r"-[vV]", args[0].text if args else "") is not None
    reader = READERS.get(name)
    if reader is None or not command.words[0].known or has_option(args, reader.writes):
        return False
    operands = [word for word in args if not word.text.startswith("-")]
    if reader.operands is not None and len(operands) > reader.operands:
        return False
    return not reader.files or _inside(args, files)


def variables_fine(command: Command, *, named: bool = False) -> bool:
    """True when no assignment of ``command`` says what programs do.

    ``named``: programs that start later may see no more than names that are known to be harmless.
    """
    for each in command.assignments:
        if HARMLESS_VARIABLES.fullmatch(each.name):
            continue
        if COMMANDING_VARIABLES.fullmatch(each.name):
            return False
        if each.exported and named and not PRIVATE_VARIABLES.fullmatch(each.name):
            return False
    return True


def _inside(args: tuple[Word, ...], files: Files) -> bool:
    """True when no word, taken as a path, leaves the working directory."""
    for word in args:
        text = word.text
        if not word.known:
            return False
        if text.startswith("-"):
            value = text.partition("=")[2] or (text[2:] if not text.startswith("--") else "")
            if value and not files.inside(Word(value)):
                return False
        elif text and not files.inside(word):
            return False
    return True
