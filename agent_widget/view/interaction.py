"""Whether a person may send, as the page keeps it: the law that js/src/interaction.ts shares.

Source: session steering document, "Public interaction state"; held by the vectors of
``interaction.merge``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

MAX_REVISION: Final = 2**53 - 1
"""The largest whole number that a page holds exactly."""


class Interaction(Struct, frozen=True):
    """``can_send`` is committed; ``revision`` grows when it changes, and only then."""

    can_send: bool
    revision: int


def read_interaction(value: object) -> Interaction | None:
    """The interaction that JSON data stands for, None when it is malformed.

    Unknown keys are ignored. A revision is a whole number from 0 to ``MAX_REVISION``.
    """
    if not isinstance(value, Mapping):
        return None
    can_send, revision = value.get("can_send"), value.get("revision")
    if not isinstance(can_send, bool) or isinstance(revision, bool):
        return None
    # JSON has one kind of number: 4.0 is as whole as 4, here as in a page.
    if isinstance(revision, float) and revision.is_integer():
        revision = int(revision)
    if not isinstance(revision, int) or not 0 <= revision <= MAX_REVISION:
        return None
    return Interaction(can_send, revision)


def merged_interaction(
    cached: Interaction | None, body: Mapping[str, object], *, full: bool
) -> Interaction | None:
    """What the page keeps once ``body`` came, a ``full`` answer or a partial update.

    A full answer without the key is of a server that has no such contract: None, and the session's
    status decides. What is malformed or of a lower revision changes nothing.
    """
    if "interaction" not in body:
        return None if full else cached
    news = read_interaction(body["interaction"])
    if news is None or (cached is not None and news.revision < cached.revision):
        return cached
    return cached if news == cached else news
