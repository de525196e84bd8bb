"""The command line of the package.

``permit`` tries permission rules on commands, ``narrate`` says what happened in a session,
``parse-stream`` what a recorded stream of a model server holds; ``agent_widget.__main__`` adds
``test``, which runs scenarios.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from ..core.errors import InvalidOptions, SessionError
from ..core.events import Event
from ..core.replay import events_of
from ..policy.decision import ruling_on
from ..policy.options import DIALECTS, MODES, Call, Kind, PermissionOptions, default_dialect
from ..policy.rules import TARGETS, Rules, Target, read_rules
from ..view.locale.words import ENGLISH, LOCALES
from ..view.narrate import Narrator
from .defaults import SECRETS
from .paths import DiskPaths
from .recorded import events_on, records_in_store, session_file

WIRES: Final = ("openai-chat", "openai-responses", "anthropic")
_KINDS: dict[str, Kind] = {"read": "read", "write": "edit"}


class Command(Struct, frozen=True):
    """A command that is not of this module."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def main(arguments: Sequence[str] | None = None, more: Mapping[str, Command] | None = None) -> int:
    """Run the command line; the exit status. ``more`` are further commands by name."""
    others = more or {}
    parser = argparse.ArgumentParser(prog="agent-widget")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_permit(commands.add_parser("permit", help="say whether rules would let a command run"))
    narrate = commands.add_parser("narrate", help="say what happened in a session")
    narrate.add_argument(
        "file", help="events or a session as JSON Lines, or a store: database, folder or URL"
    )
    narrate.add_argument(
        "--session", metavar="ID", help="a session of the store (default: the last written)"
    )
    narrate.add_argument(
        "--locale", choices=LOCALES, default=ENGLISH, help="the language (default: %(default)s)"
    )
    parse = commands.add_parser("parse-stream", help="say what a recorded stream holds, as JSON")
    parse.add_argument("--wire", choices=WIRES, required=True, help="the API that it is of")
    parse.add_argument("file", type=Path, help="the bytes of the stream, for example FILE.sse")
    for name, other in others.items():
        other.add_arguments(commands.add_parser(name, help=other.help))
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(_without_separator(given))
    if options.command in others:
        return others[options.command].run(options)
    run = {"permit": _permit, "narrate": _narrate, "parse-stream": _parse_stream}
    return run[options.command](options, sys.stdout)


def _without_separator(arguments: Sequence[str]) -> list[str]:
    """The arguments with all that follows ``--`` as one, so that its words stay as they are."""
    if "--" not in arguments:
        return list(arguments)
    at = list(arguments).index("--")
    return [*arguments[:at], "--", " ".join(arguments[at + 1 :])]


def _add_permit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rules", type=Path, required=True, help="a settings file")
    parser.add_argument("--tool", default="bash", help="the tool that is called (default: bash)")
    parser.add_argument("--shell", choices=DIALECTS, default=default_dialect(os.name))
    parser.add_argument("--mode", choices=MODES, default=None)
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="FILE", help="commands, one a line"
    )
    parser.add_argument("text", nargs="?", help="the command, path or URL, after --")


def _permit(options: argparse.Namespace, out: IO[str]) -> int:
    try:
        rules = _rules(options.rules)
    except OSError as error:
        text = f"{options.rules} cannot be read: {error.strerror}. Name a settings file."
        print(text, file=sys.stderr)  # noqa: T201
        return 2
    if options.mode != "allow_all":
        rules = rules.joined(SECRETS)  # as in every chat
    permission = PermissionOptions(mode=options.mode, rules=rules, host_shell=options.shell)
    if (options.source is None) == (options.text is None):
        print("Give a command after -- or a file with --from, one of the two.", file=sys.stderr)  # noqa: T201
        return 2
    if options.source is None:
        lines = [options.text]
    else:
        try:
            lines = options.source.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            print(f"{options.source} cannot be read: {error}", file=sys.stderr)  # noqa: T201
            return 2
    paths = DiskPaths()
    try:
        for line in lines:
            out.write(_line(options.tool, line, permission, paths) + "\n")
    except InvalidOptions as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    return 0


def _rules(path: Path) -> Rules:
    """The rules of a file; what is wrong with them is said, and asks. Raises OSError."""
    rules, problems = read_rules(path.read_bytes())
    for problem in problems:
        print(f"{path}: {problem}", file=sys.stderr)  # noqa: T201
    return rules


def _line(tool: str, text: str, options: PermissionOptions, paths: DiskPaths) -> str:
    """``verdict  rule  reason``, on one line whatever ``text`` holds."""
    target = TARGETS.get(tool, Target("fields"))
    args = {target.argument: text} if target.argument else _fields(text)
    kind: Kind = "execute" if target.kind == "shell" else _KINDS.get(target.access or "", "other")
    ruling = ruling_on(Call(tool=tool, args=args, kind=kind, target=target), options, paths)
    rule = "no rule" if ruling.matched_rule is None else f"rule {ruling.matched_rule}"
    said = f"{ruling.verdict}  {rule}  ({ruling.source}: {ruling.reason})"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in said)


def _fields(text: str) -> dict[str, object]:
    """``name=value`` arguments of a tool with plain fields, one a comma."""
    fields: dict[str, object] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals:
            raise InvalidOptions(f"{item!r} is no argument.", advice="Write name=value.")
        fields[name.strip()] = value.strip()
    return fields


def _narrate(options: argparse.Namespace, out: IO[str]) -> int:
    """A sentence for each event; 1 if a line of a file cannot be read, 2 if nothing can."""
    path = Path(options.file).expanduser()
    narrator, status = Narrator(options.locale), 0

    def tell(events: Iterable[Event]) -> None:
        for event in events:
            if (said := narrator.line(event)) is not None:
                out.write(said + "\n")

    try:
        file = session_file(path) if options.session is None else None
        if file is None and (path.exists() or "://" in options.file):
            for record in records_in_store(options.file, options.session)[1]:
                tell(events_of(record))
            return 0
        lines = (file or path).read_bytes().split(b"\n")
    except SessionError as error:
        print(f"{options.file}: {error}", file=sys.stderr)  # noqa: T201
        return 2
    except OSError as error:
        print(f"{options.file} cannot be read: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    for number, line in enumerate(lines, start=1):
        try:
            tell(events_on(line) if line.strip() else ())
        except (ValueError, SessionError) as error:
            print(f"{options.file}, line {number}: {error}", file=sys.stderr)  # noqa: T201
            status = 1
    return status


def _parse_stream(options: argparse.Namespace, out: IO[str]) -> int:
    """What the stream in a file holds; 1 if it is no whole answer, 2 if it cannot be read."""
    from ..providers.transcripts import transcript_report

    try:
        content = options.file.read_bytes()
    except OSError as error:
        print(f"{options.file} cannot be read: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 2
    report = transcript_report(options.wire, (content,))
    out.write(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    return int("error" in report)
