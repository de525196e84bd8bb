"""What a docstring says about a tool and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from msgspec import Struct


class ToolDoc(Struct, frozen=True):
    """``description`` is the text above the sections; ``parameters`` maps names to texts."""

    description: str
    parameters: Mapping[str, str]


def tool_doc(docstring: str | None) -> ToolDoc:
    """The description and the parameters of a Google, NumPy or Sphinx style docstring."""
    text = inspect.cleandoc(docstring or "")
    if "\n" not in text:  # nothing to parse, and no parser to import
        return ToolDoc(text, {})
    import griffe

    sections = griffe.parse_auto(
        griffe.Docstring(text),
        per_style_options={
            "google": {"warnings": False},
            "numpy": {"warnings": False},
            "sphinx": {"warnings": False},
        },
    )
    texts: list[str] = []
    parameters: dict[str, str] = {}
    for section in sections:
        if isinstance(section, griffe.DocstringSectionText):
            texts.append(section.value)
        elif isinstance(section, griffe.DocstringSectionParameters):
            for parameter in section.value:
                parameters[parameter.name] = " ".join(parameter.description.split())
    return ToolDoc("\n\n".join(texts).strip(), parameters)
