"""Tools: Python functions that a model can call, and those for a notebook."""

from .base import (
    Block,
    CallText,
    HtmlBlock,
    ImageBlock,
    MainThread,
    SvgBlock,
    TextBlock,
    Tool,
    ToolContext,
    ToolOutput,
)
from .function import FunctionTool, tool
from .notebook import notebook_tools
from .registry import Registry, register

__all__ = [
    "Block",
    "CallText",
    "FunctionTool",
    "HtmlBlock",
    "ImageBlock",
    "MainThread",
    "Registry",
    "SvgBlock",
    "TextBlock",
    "Tool",
    "ToolContext",
    "ToolOutput",
    "notebook_tools",
    "register",
    "tool",
]
