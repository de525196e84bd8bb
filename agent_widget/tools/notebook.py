"""The tools for a notebook, together, and the namespace they work in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .describe import describe_tool
from .function import FunctionTool
from .python_cell import python_tool
from .variables import list_tool, notebook_namespace


def notebook_tools(
    namespace: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
) -> tuple[FunctionTool, FunctionTool, FunctionTool]:
    """``list_variables``, ``describe_variable`` (both read-only) and ``run_python``.

    ``namespace`` is the dict they work in, or a function that returns it at each call; by
    default the user's: IPython's, else that of the main module.
    """
    if namespace is None:
        current = notebook_namespace
    elif isinstance(namespace, dict):
        fixed = namespace

        def current() -> dict[str, Any]:
            return fixed
    else:
        current = namespace
    return list_tool(current), describe_tool(current), python_tool(current)
