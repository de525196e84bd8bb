"""Paths of a made-up disk, and short ways to a ruling."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping

from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import Call, Kind, Mode, PermissionOptions, Ruling
from agent_widget.policy.rules import rules_of
from agent_widget.policy.shell.model import Dialect


class MadePaths:
    """A disk on which only ``links`` (absolute path to absolute path) are not what they seem."""

    def __init__(
        self,
        cwd: str = "/home/ann/ws",
        home: str = "/home/ann",
        links: Mapping[str, str | None] | None = None,
    ) -> None:
        self.cwd, self.home = cwd, home
        self._links = dict(links or {})

    def resolve(self, path: str) -> str | None:
        at = "/"
        for name in path.split("/"):
            if name == "..":
                at = posixpath.dirname(at)
            elif name not in {"", "."}:
                at = posixpath.join(at, name)
            if at in self._links:
                target = self._links[at]
                if target is None:
                    return None
                at = target
        return at


def ruling(
    line: str,
    *,
    allow: Iterable[str] = (),
    ask: Iterable[str] = (),
    deny: Iterable[str] = (),
    mode: Mode | None = None,
    shell: Dialect = "posix",
    tool: str = "bash",
    kind: Kind = "execute",
    argument: str = "command",
    paths: MadePaths | None = None,
) -> Ruling:
    options = PermissionOptions(mode=mode, rules=rules_of(allow, ask, deny), host_shell=shell)
    call = Call(tool=tool, args={argument: line}, kind=kind)
    return ruling_on(call, options, paths or MadePaths())


def verdict(line: str, **options: object) -> str:
    return ruling(line, **options).verdict  # type: ignore[arg-type]
