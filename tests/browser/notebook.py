"""An open notebook in a page of JupyterLab or Notebook 7, as a person uses it."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Request,
    Response,
    ViewportSize,
    expect,
)

from tests.browser.chat import Chat
from tests.support.jupyter import JupyterServer
from tests.support.thorough import is_thorough

OPEN_MS: Final = 60_000
CELL_MS: Final = 30_000
VIEWPORT: Final[ViewportSize] = {"width": 1280, "height": 900}

_PANEL: Final = "const panel = jupyterapp.shell.currentWidget;"
_READY: Final = """path => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const kernel = panel?.sessionContext?.session?.kernel;
  return panel?.context?.path === path && panel.context.isReady && panel.content.widgets.length > 0
    && kernel?.connectionStatus === "connected" && kernel.status === "idle";
}"""
_ADD: Final = f"""source => {{
  {_PANEL}
  const cells = panel.content.model.sharedModel;
  const first = panel.content.widgets[0];
  const isUnused = panel.content.widgets.length === 1 && first.model.sharedModel.source === "";
  if (isUnused) first.model.sharedModel.source = source;
  else cells.insertCell(cells.cells.length, {{cell_type: "code", source}});
  return panel.content.widgets.length - 1;
}}"""
# Not awaited: a cell may wait for what the test does next.
_RUN: Final = f"""index => {{
  {_PANEL}
  panel.content.mode = "command";
  panel.content.activeCellIndex = index;
  panel.content.deselectAll();
  window.cellRuns = {{...window.cellRuns, [index]: false}};
  jupyterapp.commands.execute("notebook:run-cell").then(() => {{ window.cellRuns[index] = true; }});
}}"""
_ENDED: Final = "index => window.cellRuns[index]"
_RUNS: Final = f"""index => {{
  {_PANEL}
  return panel.content.widgets[index].model.executionState === "running"
    && panel.sessionContext.session.kernel.status === "busy";
}}"""
_OUTPUTS: Final = (
    f"index => {{ {_PANEL} return panel.content.widgets[index].model.outputs.toJSON(); }}"
)
_SOURCES: Final = f"""() => {{
  {_PANEL}
  return panel.content.widgets.map(cell => [cell.model.type, cell.model.sharedModel.source]);
}}"""
_KERNEL_IS: Final = f"""status => {{
  {_PANEL} return panel.sessionContext.session?.kernel?.status === status;
}}"""
_CLOSE: Final = """() => {
  for (const panel of [...jupyterapp.shell.widgets("main")]) {
    if (panel.context) panel.context.model.dirty = false;
    panel.dispose();
  }
}"""


class Problems:
    """What a page complained of, and what it asked other hosts for."""

    # The hosts' own, whatever widget is shown.
    _OF_THE_HOST = (
        # Closing a page or a notebook ends requests that are under way.
        re.compile(r"Failed to load resource: net::ERR_(ABORTED|NETWORK_CHANGED)"),
        # The widget manager of JupyterLab supposes that every notebook has a kernel.
        re.compile(r"null \(reading 'kernel'\)[^)]*/@jupyter-widgets/jupyterlab-manager"),
        # Notebook 7 now and then reads its settings before it knows their plugin.
        re.compile(r"undefined \(reading 'schema'\)[^)]*/static/notebook/notebook_core"),
    )

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", self._on_exception)
        page.on("console", self._on_console)
        page.on("request", self._on_request)
        page.on("response", self._on_response)

    def clear(self) -> None:
        self.errors.clear()
        self.requests.clear()

    @property
    def foreign_requests(self) -> list[str]:
        """The addresses outside this machine that were asked for."""
        own = {"blob", "data", "about"}
        split = [(url, urlsplit(url)) for url in self.requests]
        return [
            url for url, parts in split if parts.scheme not in own and parts.hostname != "127.0.0.1"
        ]

    def _on_exception(self, error: Error) -> None:
        self._note(f"exception: {error}\n{error.stack}")

    def _note(self, problem: str) -> None:
        if not any(known.search(problem) for known in self._OF_THE_HOST):
            self.errors.append(problem)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(f"console: {message.text} ({message.location.get('url')})")

    def _on_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def _on_response(self, response: Response) -> None:
        if response.status >= 500:
            self._note(f"HTTP {response.status}: {response.url}")


VIEWS: Final = ".jp-NotebookPanel:not(.lm-mod-hidden) .aw"
"""The views of the notebook that is in sight."""


class Notebook:
    """One open notebook."""

    def __init__(self, page: Page, server: JupyterServer, path: str, problems: Problems) -> None:
        self.page = page
        self.server = server
        self.path = path
        self.problems = problems

    def await_ready(self, timeout_ms: float = OPEN_MS) -> None:
        """Return once the notebook is shown and its kernel is idle."""
        self.page.wait_for_function(_READY, arg=self.path, timeout=timeout_ms)

    def add(self, source: str) -> int:
        """Put a cell at the end; its index."""
        index: int = self.page.evaluate(_ADD, source)
        return index

    def start(self, source: str) -> int:
        """Add a cell and run it without waiting for its end; its index."""
        index = self.add(source)
        self.rerun(index)
        return index

    def rerun(self, index: int) -> None:
        self.page.evaluate(_RUN, index)

    def run(self, source: str) -> str:
        """Add a cell, run it to its end; the text it printed. An exception in it is a failure."""
        return self.end_of(self.start(source))

    def end_of(self, index: int) -> str:
        """Wait for the end of a running cell; the text it printed or returned."""
        self.await_end(index)
        outputs = self.outputs(index)
        errors = [o for o in outputs if o["output_type"] == "error"]
        assert not errors, "\n".join(errors[0]["traceback"])
        return text_of(outputs)

    def await_end(self, index: int) -> None:
        """Return once that cell has ended, well or not."""
        self.page.wait_for_function(_ENDED, arg=index, timeout=CELL_MS)

    def await_running(self, index: int) -> None:
        """Return once that cell keeps the kernel busy."""
        self.page.wait_for_function(_RUNS, arg=index, timeout=CELL_MS)

    def is_running(self, index: int) -> bool:
        return not self.page.evaluate(_ENDED, index)

    def outputs(self, index: int) -> list[dict[str, Any]]:
        outputs: list[dict[str, Any]] = self.page.evaluate(_OUTPUTS, index)
        return outputs

    def sources(self) -> list[list[str]]:
        """Type and text of each cell."""
        sources: list[list[str]] = self.page.evaluate(_SOURCES)
        return sources

    def await_kernel(self, status: str) -> None:
        self.page.wait_for_function(_KERNEL_IS, arg=status, timeout=CELL_MS)

    def chat(self, options: str = "", before: str = "") -> Chat:
        """Make a widget ``chat`` with these options, show it in its cell, and wait for it."""
        made = (
            f"from agent_widget import AgentWidget\n{before}\nchat = AgentWidget({options})\nchat"
        )
        views = self.page.locator(VIEWS)
        shown = views.count()
        self.run(made)
        # Until the new view is there the last one may be an old one whose kernel is gone. The host
        # may take off the page what is out of sight: then the count says nothing.
        with contextlib.suppress(AssertionError):
            expect(views).to_have_count(shown + 1, timeout=5_000)
        chat = self.shown_chats()[-1]
        chat.await_live()
        return chat

    def shown_chats(self, count: int | None = None) -> list[Chat]:
        """The views that are on the page, in its order; with ``count``, once there are so many."""
        views = self.page.locator(VIEWS)
        if count is None:
            expect(views.first).to_be_visible()
        else:
            expect(views).to_have_count(count)
        return [Chat(self.page, views.nth(index)) for index in range(views.count())]

    def cell(self, index: int) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def command(self, name: str, **arguments: object) -> None:
        """Run a command of the host to its end."""
        call = "([name, args]) => jupyterapp.commands.execute(name, args).then(() => {})"
        self.page.evaluate(call, [name, arguments])

    def save(self) -> Any:
        """Save; the notebook as it is on disk now."""
        self.command("docmanager:save")
        return self.server.read_notebook(self.path)

    def restart_kernel(self) -> None:
        self.page.evaluate("void jupyterapp.commands.execute('notebook:restart-kernel')")
        self.page.locator(".jp-Dialog").get_by_role("button", name="Confirm Kernel Restart").click()

    def reload(self) -> None:
        self.page.reload()
        self.await_ready()

    def close(self) -> None:
        """Close the notebook, and any other that is open; what is not saved is lost."""
        self.page.evaluate(_CLOSE)


in_both = pytest.mark.parametrize("notebook", ["lab", "notebook"], indirect=True)
in_both_if_thorough = (
    in_both if is_thorough() else pytest.mark.parametrize("notebook", ["lab"], indirect=True)
)


def text_of(outputs: list[dict[str, Any]]) -> str:
    """Printed text and plain text results."""
    texts = []
    for output in outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        texts.append(text if isinstance(text, str) else "".join(text))
    return "".join(texts)
