"""A rule that names no tool is told, with the tool that was probably meant."""

from __future__ import annotations

from agent_widget.policy.rules import rules_of
from agent_widget.policy.strangers import unmatched_rules

TOOLS = ("run_python", "read_file", "weather")


def test_a_rule_for_a_tool_that_is_not_there_is_told_with_what_was_meant() -> None:
    rules = rules_of(allow=["wether", "weather"], deny=["launch(city=x)"])
    slip, stranger = unmatched_rules(rules, TOOLS)
    assert slip.endswith("Did you mean weather?")
    assert "launch(city=x)" in stranger
    assert "Did you mean" not in stranger
    assert unmatched_rules(rules, TOOLS, only_slips=True) == (slip,)


def test_names_that_stand_for_many_tools_or_for_later_ones_are_known() -> None:
    rules = rules_of(
        allow=["read(**)", "bash(git status)", "github__search"],
        deny=["*", "run_*", "write(**)", "WEATHER"],
    )
    assert unmatched_rules(rules, TOOLS) == ()
