"""Pictures for people to judge, in tests/screenshots, which git ignores."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.browser.chat import Chat

SCREENSHOTS: Final = Path(__file__).parents[1] / "screenshots"


def picture(chat: Chat, name: str) -> None:
    """Photograph the view alone."""
    SCREENSHOTS.mkdir(exist_ok=True)
    chat.page.mouse.move(0, 0)
    chat.root.scroll_into_view_if_needed()
    chat.root.screenshot(path=SCREENSHOTS / f"{name}.png")


def picture_of_page(chat: Chat, name: str) -> None:
    """Photograph the view with its host around it."""
    SCREENSHOTS.mkdir(exist_ok=True)
    chat.page.mouse.move(0, 0)
    chat.root.scroll_into_view_if_needed()
    chat.page.screenshot(path=SCREENSHOTS / f"{name}.png")
