"""One view of a chat, as a person sees and uses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Locator, Page, expect

RUN_MS: Final = 30_000


class Chat:
    """``root`` is the view's frame inside its shadow root."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page = page
        self.root = root
        self.field = root.get_by_role("textbox", name="Message", exact=True)
        self.question = root.get_by_role("alertdialog")
        self.cards = root.locator("section.card")
        self.banner = root.get_by_role("region", name="Error")
        self.messages = root.locator("article.msg")
        self.status = root.locator(".header .status")
        self.connection = root.locator("p.connection")
        self.send_button = root.get_by_role("button", name="Send", exact=True)
        self.stop_button = root.get_by_role("button", name="Stop", exact=True)
        self.taking = root.get_by_role("switch", name="Take messages while it works")
        self.stepper = root.get_by_role("group", name="Versions of this message")

    # --- doing ---------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Type a message and send it with Enter; returns once it is in the transcript.

        What waits for the next message goes with it.
        """
        count = self.said.count() + self.waiting().count()
        self.field.fill(text)
        self.field.press("Enter")
        expect(self.said).to_have_count(count + 1)
        expect(self.field).to_have_value("")

    def queue(self, text: str, key: str = "Enter") -> None:
        """Type a message while a run is under way; returns once it waits."""
        count = self.waiting().count()
        self.field.fill(text)
        self.field.press(key)
        expect(self.waiting()).to_have_count(count + 1)
        expect(self.field).to_have_value("")

    def change_waiting(self, text: str, into: str) -> None:
        """Edit the waiting message with that text; returns once it is changed."""
        row = self.waiting().filter(has_text=text)
        row.get_by_role("button", name="Edit waiting message").click()
        field = self.root.get_by_role("textbox", name="Waiting message")
        field.fill(into)
        field.press("Enter")
        expect(field).to_be_hidden()
        expect(self.waiting().filter(has_text=into)).to_be_visible()

    def take_back(self, text: str) -> None:
        """Remove the waiting message with that text; returns once it is gone."""
        row = self.waiting().filter(has_text=text)
        row.get_by_role("button", name="Remove waiting message").click()
        expect(row).to_have_count(0)

    def edit(self, index: int) -> Locator:
        """Open the editor of that message of the user; its text field."""
        self.said.nth(index).hover()
        self.said.nth(index).get_by_role("button", name="Edit message").click()
        field = self.root.get_by_role("textbox", name="Edit message")
        expect(field).to_be_focused()
        return field

    def allow(self) -> None:
        self.answer("Allow once")

    def allow_more(self, words: str, rules: list[str] | None = None) -> None:
        """Allow by rule, as offered or narrowed to ``rules``: "Allow for this session", …"""
        self.question.get_by_role("button", name="Allow more").click()
        for field, rule in zip(
            self.question.get_by_role("textbox").all(), rules or (), strict=False
        ):
            field.fill(rule)
        self.answer(words)

    def allow_for_session(self) -> None:
        self.allow_more("Allow for this session")

    def allow_edited(self, text: str) -> None:
        """Open the editor, put ``text`` in it, allow that."""
        self.question.get_by_role("button", name="Edit and allow").click()
        self.question.get_by_role("textbox").fill(text)
        self.answer("Allow edited")

    def answer(self, words: str) -> None:
        """Click one of the answers; returns once this question is gone."""
        with self._answered():
            self.question.get_by_role("button", name=words).click()

    def deny(self, reason: str) -> None:
        with self._answered():
            self.question.get_by_role("button", name="Deny").click()
            self.question.get_by_role("textbox").fill(reason)
            self.question.get_by_role("textbox").press("Enter")

    @contextmanager
    def _answered(self) -> Iterator[None]:
        question = self.question.element_handle()
        yield
        # The next question may come at once.
        self.page.wait_for_function("question => !question.isConnected", arg=question)

    def stop(self) -> None:
        self.stop_button.click()

    def retry(self) -> None:
        self.root.get_by_role("button", name="Retry").click()

    # --- seeing --------------------------------------------------------------------------------

    @property
    def said(self) -> Locator:
        """What the user said and the kernel has."""
        return self.root.locator("article.msg.user:not(.sending)")

    @property
    def answers(self) -> Locator:
        return self.root.locator("article.msg.assistant")

    @property
    def last_answer(self) -> Locator:
        return self.answers.last

    def card(self, index: int = -1) -> Locator:
        return self.cards.last if index == -1 else self.cards.nth(index)

    def open_card(self, index: int = -1) -> Locator:
        """The card, opened if it is closed."""
        card = self.card(index)
        head = card.locator("button.card-head").first
        if head.get_attribute("aria-expanded") == "false":
            head.click()
        expect(head).to_have_attribute("aria-expanded", "true")
        return card

    def waiting(self, used: str | None = None) -> Locator:
        """The messages that wait; only those to be used "Before the next step", …"""
        section = self.root.get_by_role("region", name="Waiting messages")
        group = section if used is None else section.get_by_role("group", name=used)
        return group.get_by_role("listitem")

    def recorded_answers(self) -> Callable[[], list[str]]:
        """From now on, note each different text of the last answer; the result tells them."""
        self.root.evaluate(
            """frame => {
              window.answersSeen = [];
              const note = () => {
                const answer = [...frame.querySelectorAll("article.assistant")].at(-1);
                const blocks = [...answer?.querySelectorAll(".md") ?? []];
                const text = blocks.map(block => block.textContent.trim()).join(" ");
                if (text && text !== window.answersSeen.at(-1)) window.answersSeen.push(text);
              };
              new MutationObserver(note).observe(
                frame, {subtree: true, childList: true, characterData: true});
            }"""
        )
        return lambda: self.page.evaluate("window.answersSeen")

    def is_at_the_end(self) -> bool:
        """Whether the end of the transcript is in sight."""
        rest = "log => log.scrollHeight - log.scrollTop - log.clientHeight"
        missing: float = self.root.get_by_role("log").evaluate(rest)
        return abs(missing) < 3

    def transcript(self) -> list[str]:
        """The text of each message shown."""
        return [text.strip() for text in self.messages.all_inner_texts()]

    # --- waiting -------------------------------------------------------------------------------

    def await_live(self) -> None:
        """Return once the kernel has answered this view."""
        expect(self.field).to_be_visible()
        expect(self.status).to_have_text("Ready")
        expect(self.connection).to_be_hidden()

    def await_rest(self, words: str = "Ready") -> None:
        """Return once no run is under way."""
        expect(self.status).to_have_text(words, timeout=RUN_MS)

    def await_question(self) -> None:
        expect(self.question).to_be_visible(timeout=RUN_MS)

    def await_card(self, state: str, index: int = -1, timeout_ms: float = RUN_MS) -> Locator:
        card = self.card(index)
        expect(card).to_have_attribute("data-state", state, timeout=timeout_ms)
        return card

    def await_text(self, text: str | re.Pattern[str]) -> None:
        """Return once the last answer holds that text."""
        expect(self.last_answer).to_contain_text(text, timeout=RUN_MS)
