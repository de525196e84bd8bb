r"""What is in the file of a session: a line that says what it is, then a line for each record.

    {"agent_widget_session":1,"session_id":"s-1"}
    {"id":"e-1","parent_id":null,"ts":0,"kind":"notice","data":{},"crc":"0b5a4c1d"}

``crc`` is the CRC-32 of the record's JSON without it, continued from the line before and, for the
first record, from the session's id. So a line that was changed, lost, doubled or moved is noticed,
and the only damage that is not is the one a torn write makes: lines that are missing at the end.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from ..core.records import ARTIFACT_VERSION, FORMAT_VERSION, Record
from .base import StoreCorrupted, StoreTooNew
from .summary import decoded, encoded

_HEADER_START: Final = b'{"agent_widget_session":'
VERSION_OFFSET: Final = len(_HEADER_START)
"""Where the version is in the file: one digit, so that one byte changes it."""
_CRC_SIZE: Final = len(b',"crc":"01234567"}')


class Log(Struct):
    """The lines of a file that hold, up to ``size_bytes``; what follows there is half a line.

    ``bodies`` are the records' JSON in order, as far as they are asked for. ``is_open`` tells that
    the last line that holds lacks its line break.
    """

    session_id: str | None = None
    version: int = 0
    size_bytes: int = 0
    crc: int = 0
    count: int = 0
    is_open: bool = False
    bodies: list[bytes] = field(default_factory=list)

    def records(self) -> list[Record]:
        """The records of ``bodies``. Raises StoreCorrupted."""
        return [decoded(body) for body in self.bodies]


def read_log(data: bytes, what: str) -> Log:
    """The log in ``data``, the content of the file ``what``. Raises StoreCorrupted, StoreTooNew."""
    log = Log()
    lines = data.split(b"\n")
    end = 0
    for number, raw in enumerate(lines, 1):
        is_last = number == len(lines)
        end += len(raw) + (not is_last)
        line = raw.rstrip()
        if not line:
            continue
        if log.version:
            problem = _problem(log, line)
        elif number == 1 and line.startswith(_HEADER_START):
            problem = _header_problem(log, line, what)
        else:
            problem = "does not say that it is a session"
        if problem is not None:
            if is_last and (log.version or _is_torn_header(line)):
                break
            raise StoreCorrupted(f"Line {number} of {what} {problem}.")
        log.size_bytes = end
        log.is_open = is_last
    return log


def header_line(session_id: str, version: int) -> bytes:
    """The first line of a file."""
    text = json.dumps(session_id)  # escapes half a surrogate pair too
    return b'%s%d,"session_id":%s}\n' % (_HEADER_START, version, text.encode())


def seed(session_id: str) -> int:
    """What the check sum of the first record goes on from."""
    return zlib.crc32(session_id.encode(errors="surrogatepass"))


def record_lines(records: Iterable[Record], crc: int) -> tuple[bytes, int]:
    """The lines of ``records`` after a line of check sum ``crc``, and the last one's check sum."""
    lines = []
    for record in records:
        body = encoded(record)
        crc = zlib.crc32(body, crc)
        lines.append(b'%s,"crc":"%08x"}\n' % (body[:-1], crc))
    return b"".join(lines), crc


def _header_problem(log: Log, line: bytes, what: str) -> str | None:
    """Take the first line into ``log``, or say what is wrong with it."""
    try:
        fields = json.loads(line)
        version, session_id = fields["agent_widget_session"], fields.get("session_id")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "does not say that it is a session"
    if type(version) is not int or version < FORMAT_VERSION:
        return f"has no version but {version!r}"
    if version > ARTIFACT_VERSION:
        raise StoreTooNew(what, version)
    if not isinstance(session_id, str):
        return f"has no session_id but {session_id!r}"
    log.version, log.session_id, log.crc = version, session_id, seed(session_id)
    return None


def _problem(log: Log, line: bytes) -> str | None:
    """Take a record's line into ``log``, or say what is wrong with it."""
    body = line[:-_CRC_SIZE] + b"}"
    crc = zlib.crc32(body, log.crc)
    if line[-_CRC_SIZE:] != b',"crc":"%08x"}' % crc:
        return "was changed, or one before it is missing"
    log.crc = crc
    log.count += 1
    log.bodies.append(body)
    return None


def _is_torn_header(line: bytes) -> bool:
    """Whether a first write that was cut short leaves this, so that nothing is lost with it."""
    return _HEADER_START.startswith(line[: len(_HEADER_START)]) or not line.strip(b"\0")
