"""How much a model can be asked to think, and how each wire and server wants to be asked."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

from ..policy.models import BUDGET_TOKENS, budget_of, named_level

Levels: TypeAlias = tuple[str, ...]

NO_LEVELS: Final[Levels] = ()
EFFORTS: Final[Levels] = ("low", "medium", "high")
ON_OFF: Final[Levels] = ("off", "high")

_OPENAI: Final[tuple[tuple[str, Levels], ...]] = (
    (r"gpt-5[^/]*-chat|chat-latest", NO_LEVELS),
    (r"o1-(mini|preview)", NO_LEVELS),
    (r"gpt-5\.[2-9].*-pro", ("medium", "high", "xhigh")),
    (r"gpt-5-pro", ("high",)),
    (r"gpt-5-codex", EFFORTS),
    (r"gpt-5\.1(?!-codex-max)", ("off", *EFFORTS)),
    (r"gpt-5\.\d|gpt-[6-9]|gpt-\d\d", ("off", *EFFORTS, "xhigh")),
    (r"gpt-5", ("minimal", *EFFORTS)),
    (r"o[1-9](?!\w)", EFFORTS),
    (r"gpt-oss", EFFORTS),
)
_ANTHROPIC: Final[tuple[tuple[str, Levels], ...]] = (
    (r"claude-(3-[05]|3-(opus|sonnet|haiku)|2|instant)", NO_LEVELS),
    (r"claude-(mythos|fable)", (*EFFORTS, "xhigh")),
    (
        r"claude-3-7|claude-(opus|sonnet|haiku)-4($|-[015]($|-)|-\d{6})",
        ("off", "minimal", *EFFORTS),
    ),
    (r"claude-", ("off", *EFFORTS, "xhigh")),
)
_OTHERS: Final[tuple[tuple[str, Levels], ...]] = (
    (r"gpt-oss", EFFORTS),
    (r"gemini-3.*pro", EFFORTS),
    (r"gemini-(2\.5-flash|3.*flash)", ("off", "minimal", *EFFORTS)),
    (r"gemini-2\.5-pro", ("minimal", *EFFORTS)),
    (r"grok-(3-mini|4)", EFFORTS),
    (r"magistral|qwq|deepseek-(reasoner|r1)", NO_LEVELS),  # they always think
    (r"deepseek-(chat|v3\.[1-9]|v[4-9])|qwen-?3|glm-[4-9]", ON_OFF),
)

Field: TypeAlias = Literal["effort", "reasoning", "type", "template"]
"""How a Chat Completions server is asked: OpenAI's ``reasoning_effort``, OpenRouter's
``reasoning``, DeepSeek's ``thinking``, or an argument of the chat template of local servers.
"""

_MIN_BUDGET_TOKENS: Final = 1024


def openai_levels(model: str) -> Levels:
    """The levels of a model of OpenAI, also as other servers name it; none when it does not
    reason, or when that is not known.
    """
    return _first(_OPENAI, model.rpartition("/")[2])


def anthropic_levels(model: str) -> Levels:
    """The levels of a model of Anthropic, by its name."""
    return _first(_ANTHROPIC, model)


def chat_levels(model: str) -> Levels:
    """The levels of whatever model a Chat Completions server has; none where it is not known."""
    name = model.lower().rpartition("/")[2]
    return _first(_OTHERS, name) or openai_levels(name) or anthropic_levels(name.replace(".", "-"))


def chat_fields(field: Field, level: str | None, model: str = "") -> dict[str, Any]:
    """What a Chat Completions body says for ``level``; of a budget, its level for ``model``."""
    tokens = None if level is None else budget_of(level)
    if tokens is not None and field == "reasoning":
        return {"reasoning": {"max_tokens": tokens}}
    level = named_level(level, chat_levels(model))
    if level is None:
        return {}
    effort = "none" if level == "off" else level
    match field:
        case "effort":
            return {"reasoning_effort": effort}
        case "reasoning":
            return {"reasoning": {"enabled": False} if level == "off" else {"effort": effort}}
        case "type":
            return {"thinking": {"type": "disabled" if level == "off" else "enabled"}}
        case "template":
            return {"chat_template_kwargs": {"enable_thinking": level != "off"}}


def responses_fields(level: str | None, model: str = "") -> dict[str, Any]:
    """What a Responses body says for ``level``; a summary is what a person can be shown."""
    level = named_level(level, openai_levels(model))
    if level is None:
        return {}
    if level == "off":
        return {"reasoning": {"effort": "none"}}
    return {"reasoning": {"effort": level, "summary": "auto"}}


def takes_budget(model: str) -> bool:
    """Whether this model of Anthropic wants a budget of tokens; newer ones want an effort."""
    return "minimal" in anthropic_levels(model)


def anthropic_fields(model: str, level: str | None, max_tokens: int) -> dict[str, Any]:
    """What a Messages body says for ``level``; nothing where there is no room for thinking."""
    if level is None or not anthropic_levels(model):
        return {}
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    if takes_budget(model):
        wanted = budget_of(level) or BUDGET_TOKENS[level]
        budget = min(max(wanted, _MIN_BUDGET_TOKENS), max_tokens - _MIN_BUDGET_TOKENS)
        if budget < _MIN_BUDGET_TOKENS:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    level = named_level(level, anthropic_levels(model)) or level
    effort = {"minimal": "low", "xhigh": "max" if "-4-6" in model else "xhigh"}.get(level, level)
    # Some models leave their thinking out unless they are asked for it.
    thinking = {"type": "adaptive", "display": "summarized"}
    return {"thinking": thinking, "output_config": {"effort": effort}}


def _first(table: tuple[tuple[str, Levels], ...], model: str) -> Levels:
    name = model.lower()
    return next((levels for pattern, levels in table if re.match(pattern, name)), NO_LEVELS)
