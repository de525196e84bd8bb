"""JupyterLab or Notebook 7: a server and the page that shows it."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator

from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as PageTimeout

from tests.browser.notebook import OPEN_MS, VIEWPORT, Notebook, Problems
from tests.support.jupyter import App, JupyterServer

USED_PAGE_MS = 25_000
_numbers = itertools.count(1)


class Host:
    """One server and its page. The page of JupyterLab is kept from test to test."""

    def __init__(self, app: App, server: JupyterServer, browser: Browser) -> None:
        self.app = app
        self.server = server
        self.page: Page | None = None
        self.problems: Problems | None = None
        self._browser = browser
        self._spare = server.start_kernel()
        self._ending: list[threading.Thread] = []

    def open(self, kernel: str = "python3") -> tuple[Notebook, str]:
        """A new notebook with a fresh kernel, and that kernel's id."""
        path = f"test{next(_numbers)}.ipynb"
        self.server.write_notebook(path, kernel)
        if kernel == "python3":
            # The kernel of the next test starts while this one runs.
            kernel_id, self._spare = self._spare, self.server.start_kernel()
        else:
            kernel_id = self.server.start_kernel(kernel)
        self.server.use_kernel(path, kernel_id)
        return self.show(path), kernel_id

    def show(self, path: str) -> Notebook:
        """The notebook at ``path``, in the page."""
        is_used = self.page is not None
        if self.page is None:
            self.page = self._browser.new_page(viewport=VIEWPORT)
            self.problems = Problems(self.page)
            self.page.goto(self.address(path))
        elif self.app == "notebook":
            self.page.goto(self.address(path))
        else:
            opened = "path => jupyterapp.commands.execute('docmanager:open', {path}).then(() => {})"
            self.page.evaluate(opened, path)
        assert self.problems is not None
        notebook = Notebook(self.page, self.server, path, self.problems)
        try:
            notebook.await_ready(USED_PAGE_MS if is_used else OPEN_MS)
        except PageTimeout:
            if not is_used:
                raise
            # JupyterLab sometimes never connects a further notebook of a long-lived page to its
            # kernel. The host is not what is tested: begin with a new page.
            self.forget_page()
            return self.show(path)
        return notebook

    def show_without_kernel(self, path: str, content: object) -> Notebook:
        """A notebook with this content, which gets no kernel, in the page of JupyterLab."""
        assert self.page is not None
        assert self.problems is not None
        (self.server.notebooks / path).write_text(json.dumps(content), "utf-8")
        self.page.evaluate(
            """path => jupyterapp.commands.execute("docmanager:open", {
              path, kernelPreference: {canStart: false, shouldStart: false},
            }).then(() => {})""",
            path,
        )
        return Notebook(self.page, self.server, path, self.problems)

    def address(self, path: str) -> str:
        if self.app == "lab":
            # Without what the last page of this server had open.
            return f"{self.server.url}/lab/tree/{path}?reset"
        return f"{self.server.url}/notebooks/{path}"

    def end_kernel(self, kernel_id: str) -> None:
        """Shut that kernel down, while the next test begins."""
        thread = threading.Thread(target=self.server.stop_kernel, args=[kernel_id])
        thread.start()
        self._ending.append(thread)

    def close(self) -> None:
        """Close the page and shut the server down."""
        self.forget_page()
        for thread in self._ending:
            thread.join()
        self.server.close()

    @contextlib.contextmanager
    def further_page(self) -> Iterator[None]:
        """While it lasts, another page is used, which begins with the settings of now."""
        kept = self.page, self.problems
        self.page = self.problems = None
        try:
            yield
        finally:
            self.forget_page()
            self.page, self.problems = kept

    def forget_page(self) -> None:
        if self.page is not None:
            self.page.close()
        self.page = self.problems = None
