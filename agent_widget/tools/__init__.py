"""Tools: Python functions that a model can call, and those for a notebook."""

from .base import (
    Block,
    CallText,
    HtmlBlock,
    ImageBlock,
    Kind,
    MainThread,
    SvgBlock,
    TextBlock,
    Tool,
    ToolContext,
    ToolOutput,
)
from .bash import bash_tool
from .fetch import fetch_tool
from .files import file_tools
from .function import FunctionTool, tool
from .notebook import notebook_tools
from .registry import Registry, register
from .todo import Todo, todo_tool

__all__ = [
    "Block",
    "CallText",
    "FunctionTool",
    "HtmlBlock",
    "ImageBlock",
    "Kind",
    "MainThread",
    "Registry",
    "SvgBlock",
    "TextBlock",
    "Todo",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "bash_tool",
    "fetch_tool",
    "file_tools",
    "notebook_tools",
    "register",
    "todo_tool",
    "tool",
]
