"""The plugin of pytest: fixtures ``agent_session``, ``agent_replay``, ``agent_transcript``,
``no_network``, and the option ``--agent-record``.

It is loaded in every run of pytest where the package is installed, so it imports nothing of it but
in the fixtures, and changes nothing for tests that do not ask for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .session import AgentSession

_MODES = ("once", "none", "new", "all", "accept")
_VARIABLE = "AGENT_WIDGET_RECORD"
_FAILED_WITH = pytest.StashKey[BaseException]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("agent_widget").addoption(
        "--agent-record",
        choices=_MODES,
        default=None,
        help="mode of every recording in this run, notebooks included: once, none, new, all, or "
        "accept (keep recorded answers under changed requests); writes transcripts anew, too, "
        "with new, all and accept",
    )


def pytest_configure(config: pytest.Config) -> None:
    mode = config.getoption("--agent-record")
    if mode is not None:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = mode  # kernels and other processes get it, too
        config.add_cleanup(lambda: _put_back(before))
    if getattr(config.option, "nbval", False) or getattr(config.option, "nbval_lax", False):
        _sanitize_notebooks(config)


def _put_back(before: str | None) -> None:
    os.environ.pop(_VARIABLE, None)
    if before is not None:
        os.environ[_VARIABLE] = before


def _sanitize_notebooks(config: pytest.Config) -> None:
    """Let nbval know what differs from run to run in outputs of chats, beside the user's file."""
    ours = Path(__file__).with_name("nbval.cfg")
    given = getattr(config.option, "nbval_sanitize_with", None)
    if given is None:
        config.option.nbval_sanitize_with = str(ours)
    elif Path(given).is_file() and not ours.samefile(given):
        # nbval takes one file.
        handle, joined = tempfile.mkstemp(suffix=".cfg", prefix="agent-widget-nbval-")
        os.close(handle)
        texts = (file.read_text(encoding="utf-8") for file in (Path(given), ours))
        Path(joined).write_text("\n".join(texts), encoding="utf-8")
        config.option.nbval_sanitize_with = joined
        config.add_cleanup(lambda: Path(joined).unlink(missing_ok=True))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Keep what a test failed with: its fixtures do not tell it again."""
    if call.when == "call" and call.excinfo is not None:
        item.stash[_FAILED_WITH] = call.excinfo.value


@pytest.fixture
def no_network() -> Iterator[None]:
    """Whatever reaches for another machine fails, and says so; this machine stays reachable."""
    from .network import network_blocked

    with network_blocked():
        yield


@pytest.fixture
def agent_session() -> Iterator[Callable[..., AgentSession]]:
    """Makes sessions that end with the test: ``agent_session([[text("Hi.")]], tools=[…])``.

    Time and ids are the same at every run: ``clock`` (a ``FakeClock``) stands still. Options are
    those of ``AgentSession``.
    """
    from ..core.ids import SequentialIds
    from .clock import FakeClock
    from .session import AgentSession

    made: list[AgentSession] = []

    def make(model: Any = None, *, clock: FakeClock | None = None, **options: Any) -> AgentSession:
        time = clock or FakeClock()
        session = AgentSession(model, **{"clock_ms": time.ms, "new_id": SequentialIds(), **options})
        made.append(session)
        return session

    yield make
    for session in made:
        session.close()


@pytest.fixture
def agent_replay(request: pytest.FixtureRequest) -> Iterator[Callable[..., AgentSession]]:
    """Makes sessions that play a recording: ``agent_replay("hi.jsonl", tools=[…])``.

    A relative path starts at the test's file. There is no network, and chance is seeded. The test
    fails where something differs and, at its end, where something recorded was not used. With
    ``--agent-record=all`` (or new, once) and ``model=``, the recording is made, over the network.
    """
    import random

    from .network import network_blocked
    from .session import AgentSession

    made: list[AgentSession] = []
    mode = os.environ.get(_VARIABLE, "none")
    is_live = mode in ("once", "new", "all")

    def make(path: str | os.PathLike[str], model: Any = None, **options: Any) -> AgentSession:
        from ..engine.recording import Recording, replay

        file = request.path.parent / path
        if model is None:
            session = AgentSession(replay(file), **options)
        else:
            session = AgentSession(model, record=Recording(file, "none"), **options)
        made.append(session)
        return session

    before = random.getstate()
    random.seed(0)
    try:
        if is_live:
            yield make
            _close(made, request.node.stash.get(_FAILED_WITH, None))
        else:
            with network_blocked():
                yield make
                _close(made, request.node.stash.get(_FAILED_WITH, None))
    finally:
        random.setstate(before)


def _close(sessions: list[AgentSession], failure: BaseException | None) -> None:
    """End all sessions, and fail where a replay was none, unless the test has failed with that.

    Where a test has failed, what it did not come to is not told either.
    """
    from ..engine.recording import ReplayMismatch

    found: list[ReplayMismatch] = []
    for session in sessions:
        try:
            session.close()
        except ReplayMismatch as mismatch:
            if failure is None or not (mismatch is failure or mismatch.is_rest):
                found.append(mismatch)
    if found:
        pytest.fail("\n".join(map(str, found)), pytrace=False)


@pytest.fixture
def agent_transcript(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compares a chat with a stored transcript: ``agent_transcript(chat)``.

    It is kept in ``transcripts/<file>.<test>.txt`` next to the test's file, or under ``name``. One
    that is not there is written and the test fails; ``--agent-record=accept`` (or new, all) writes
    it anew.
    """
    from .transcripts import transcript

    def compare(chat: Any, name: str | None = None) -> None:
        test = ".".join([request.path.stem, *request.node.nodeid.split("::")[1:]])
        own = test.translate({ord(char): "-" for char in "[]/\\:<>|?* "})
        file = request.path.parent / "transcripts" / f"{name or own}.txt"
        actual = transcript(chat)
        expected = file.read_text(encoding="utf-8") if file.exists() else None
        if actual == expected:
            return
        if expected is None or os.environ.get(_VARIABLE) in ("new", "all", "accept"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(actual, encoding="utf-8", newline="\n")
        if expected is None:
            pytest.fail(f"{file} was not there. It is now: look at it, then run again.")
        if os.environ.get(_VARIABLE) in ("new", "all", "accept"):
            return
        # A plain comparison: pytest shows the lines that differ.
        assert actual == expected, f"not {file}; --agent-record=accept writes it anew"

    return compare
