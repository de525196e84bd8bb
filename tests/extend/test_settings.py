"""Rules in settings files: a project may only make things stricter, and nothing gets lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.extend.settings import PROJECT_FILE, ProjectSettings, user_folder, user_rules


def project(tmp_path: Path, content: object = None) -> ProjectSettings:
    folder = tmp_path / "project"
    folder.mkdir(exist_ok=True)
    if content is not None:
        file = folder / PROJECT_FILE
        file.parent.mkdir(exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content))
    return ProjectSettings(folder, tmp_path / "user")


def settings(**rules: list[str]) -> dict[str, object]:
    return {"permission": {"rules": rules}}


def texts(found: ProjectSettings) -> dict[str, list[str]]:
    rules, _ = found.rules()
    return {
        effect: [rule.text for rule in getattr(rules, effect)]
        for effect in ("allow", "ask", "deny")
    }


def test_rules_of_a_cloned_project_only_restrict(tmp_path: Path) -> None:
    cloned = project(tmp_path, settings(allow=["bash(*)"], ask=["read_file"], deny=["bash(rm *)"]))
    assert texts(cloned) == {"allow": [], "ask": ["read_file"], "deny": ["bash(rm *)"]}
    [problem] = cloned.rules()[1]
    assert "bash(*)" in str(problem)


def test_a_rule_made_here_holds_after_a_restart_and_a_changed_one_does_not(tmp_path: Path) -> None:
    project(tmp_path).add(("bash(git status)",))
    again = project(tmp_path)
    assert texts(again)["allow"] == ["bash(git status)"]
    file = Path(again.path)
    file.write_text(file.read_text().replace("git status", "git status *"))
    assert texts(project(tmp_path))["allow"] == []


def test_adding_a_rule_approves_no_other_one_and_keeps_what_was_there(tmp_path: Path) -> None:
    cloned = project(tmp_path, {**settings(allow=["bash(*)"], deny=["bash(rm *)"]), "other": [1]})
    cloned.add(("bash(git status)",))
    assert texts(cloned) == {"allow": ["bash(git status)"], "ask": [], "deny": ["bash(rm *)"]}
    assert json.loads(Path(cloned.path).read_text())["other"] == [1]


def test_a_rule_of_one_project_does_not_hold_in_another(tmp_path: Path) -> None:
    one = project(tmp_path)
    one.add(("bash(git status)",))
    other = tmp_path / "other"
    (other / PROJECT_FILE).parent.mkdir(parents=True)
    (other / PROJECT_FILE).write_bytes(Path(one.path).read_bytes())
    assert texts(ProjectSettings(other, tmp_path / "user"))["allow"] == []


@pytest.mark.parametrize("bad", ["bash(", "*(x)", "", "bash()"])
def test_a_bad_rule_is_not_written(tmp_path: Path, bad: str) -> None:
    there = project(tmp_path, settings(deny=["bash(rm *)"]))
    before = Path(there.path).read_bytes()
    with pytest.raises(InvalidOptions):
        there.add((bad,))
    assert Path(there.path).read_bytes() == before


@pytest.mark.parametrize("content", ["{", "[]", "", '{"permission": 1}'])
def test_settings_that_cannot_be_read_ask_for_everything_and_are_not_overwritten(
    tmp_path: Path, content: str
) -> None:
    broken = project(tmp_path, content)
    rules, problems = broken.rules()
    assert [rule.text for rule in rules.ask] == ["*"]
    assert problems
    if content:
        with pytest.raises(InvalidOptions):
            broken.add(("bash(git status)",))
        assert Path(broken.path).read_text() == content


def test_rules_are_not_written_through_a_link(tmp_path: Path) -> None:
    there = project(tmp_path)
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text("{}")
    Path(there.path).parent.mkdir()
    Path(there.path).symlink_to(elsewhere)
    with pytest.raises(InvalidOptions):
        there.add(("bash(git status)",))
    assert elsewhere.read_text() == "{}"


def test_a_rule_whose_approval_cannot_be_kept_does_not_hold(tmp_path: Path) -> None:
    there = project(tmp_path, settings(deny=["bash(rm *)"]))
    user_is_a_file = Path(there.path)
    broken = ProjectSettings(tmp_path / "project", user_is_a_file)
    with pytest.raises(FileExistsError):
        broken.add(("bash(git status)",))
    assert not [file for file in user_is_a_file.parent.iterdir() if file != user_is_a_file]
    assert texts(there) == {"allow": [], "ask": [], "deny": ["bash(rm *)"]}


def test_the_users_own_rules_hold_and_the_folder_follows_the_environment(tmp_path: Path) -> None:
    assert user_folder({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "agent_widget"
    folder = tmp_path / "agent_widget"
    assert user_rules(folder)[0].allow == ()
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings(allow=["bash(git status)"])))
    assert [rule.text for rule in user_rules(folder)[0].allow] == ["bash(git status)"]


def test_the_definition_that_was_allowed_in_a_project_is_kept_with_the_user(tmp_path: Path) -> None:
    one, other, user = tmp_path / "one", tmp_path / "other", tmp_path / "user"
    ProjectSettings(one, user).pin("mcp__git__log", "a")
    ProjectSettings(one, user).pin("mcp__git__show", "b")
    ProjectSettings(other, user).pin("mcp__git__log", "c")
    kept = ProjectSettings(one, user)
    assert [kept.pinned(f"mcp__git__{name}") for name in ("log", "show", "blame")] == [
        "a",
        "b",
        None,
    ]
    assert not one.exists()
    (user / "approved_tools.json").write_text("[]")
    assert kept.pinned("mcp__git__log") is None
