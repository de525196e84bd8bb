"""Hosts and paths in rules."""

from __future__ import annotations

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.hosts import Host, host_of, host_pattern
from agent_widget.policy.options import Verdict
from agent_widget.policy.paths import path_forms, path_pattern
from tests.policy.support import MadePaths, ruling


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Example.ORG/x", Host("example.org", 443)),
        ("http://example.org.", Host("example.org", 80)),
        ("https://example.org:8443/x?y#z", Host("example.org", 8443)),
        ("http://127.1/", Host("127.0.0.1", 80)),
        ("http://0x7f000001/", Host("127.0.0.1", 80)),
        ("http://2130706433/", Host("127.0.0.1", 80)),
        ("http://0177.0.0.1/", Host("127.0.0.1", 80)),
        ("http://[::1]/", Host("::1", 80)),
        ("http://[::ffff:127.0.0.1]/", Host("127.0.0.1", 80)),
        ("http://user@example.org/", None),
        ("http://example.org@evil.example/", None),
        ("http://example.org\\@evil.example/", None),
        ("http://ex%61mple.org/", None),
        ("http://exämple.org/", None),
        ("ftp://example.org/", None),
        ("file:///etc/hosts", None),
        ("javascript:alert(1)", None),
        ("http://", None),
        ("http://a b/", None),
        ("http://a:99999/", None),
        ("http://[::1/", None),
        ("//example.org/x", None),
        ("http:\n//example.org", None),
    ],
)
def test_a_url_leads_to_one_host_or_to_none(url: str, host: Host | None) -> None:
    assert host_of(url) == host


HOSTS: list[tuple[str, str, Verdict, Verdict]] = [
    ("example.org", "https://example.org/x", "allow", "deny"),
    ("example.org", "https://EXAMPLE.org./x", "allow", "deny"),
    ("example.org", "https://a.example.org/x", "ask", "ask"),
    ("*.example.org", "https://a.b.example.org/x", "allow", "deny"),
    ("*.example.org", "https://example.org/x", "ask", "deny"),
    ("*.example.org", "https://badexample.org/x", "ask", "ask"),
    ("example.org:8443", "https://example.org/x", "ask", "ask"),
    ("example.org:8443", "https://example.org:8443/x", "allow", "deny"),
    ("127.0.0.1", "http://0x7f.1/", "allow", "deny"),
    ("*", "https://anything.example/", "allow", "deny"),
    ("example.org", "https://example.org@evil.example/", "ask", "ask"),
]


@pytest.mark.parametrize(("pattern", "url", "if_allowed", "if_denied"), HOSTS)
def test_host_rules_see_where_a_url_leads(
    pattern: str, url: str, if_allowed: Verdict, if_denied: Verdict
) -> None:
    rule = [f"fetch_url({pattern})"]
    call = {"tool": "fetch_url", "argument": "url", "kind": "network"}
    assert ruling(url, allow=rule, **call).verdict == if_allowed  # type: ignore[arg-type]
    assert ruling(url, deny=rule, **call).verdict == if_denied  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "https://x", "a b", "*.*", "a*", "x/y", "exämple.org", "a:b"])
def test_what_is_no_host_is_malformed(text: str) -> None:
    with pytest.raises(InvalidOptions):
        host_pattern(text)


@pytest.mark.parametrize(
    ("pattern", "path", "allowed", "restricted"),
    [
        ("src/**", "src/a/b.py", True, True),
        ("src/**", "src", True, True),
        ("src/**", "srcs/a", False, False),
        ("src/*", "src/a/b.py", False, True),
        ("src/*.py", "src/a.py", True, True),
        ("src/*.py", "src/a.pyc", False, False),
        ("src/?.py", "src/ab.py", False, False),
        ("src", "src/a", False, True),
        ("**/.env", ".env", True, True),
        ("**/.env", "a/b/.env", True, True),
        ("**/.env", "/etc/.env", False, True),
        ("**/.env", "a/x.env", False, False),
        ("**", "/etc/x", False, True),
        ("**", "a/b", True, True),
        ("/etc/**", "/etc/hosts", True, True),
        ("/etc/**", "/etcetera", False, False),
        ("~/x/**", "~/x/y", True, True),
        ("~/x/**", "/home/ann/x/y", True, True),
        ("~/x/**", "../x/y", True, True),
        ("./src/../src/a", "src/a", True, True),
        ("src/a**b", "src/a/x/b", True, True),
        (r"src/\[id\].ts", "src/[id].ts", True, True),
        (r"src/\*", "src/*", True, True),
        (r"src/\*", "src/a", False, False),
        ("SRC/a", "src/a", False, True),
        ("src/a.", "src/a.", False, True),
    ],
)
def test_path_patterns(pattern: str, path: str, *, allowed: bool, restricted: bool) -> None:
    paths = MadePaths()
    compiled = path_pattern(pattern, paths)
    forms = path_forms(path, paths)
    assert (compiled.allows(forms), compiled.restricts(forms)) == (allowed, restricted)


@pytest.mark.parametrize("text", ["", " ", " a", "a[b]", "{a,b}", "a\\b", "a\\"])
def test_what_is_no_path_is_malformed(text: str) -> None:
    with pytest.raises(InvalidOptions):
        path_pattern(text, MadePaths())


def test_a_working_directory_behind_a_link_is_known_by_both_names() -> None:
    paths = MadePaths(cwd="/tmp/ws", links={"/tmp": "/private/tmp"})
    pattern = path_pattern("out/**", paths)
    for path in ("out/a", "/tmp/ws/out/a", "/private/tmp/ws/out/a"):
        assert pattern.allows(path_forms(path, paths)), path
        assert pattern.restricts(path_forms(path, paths)), path


def test_a_link_inside_an_allowed_folder_does_not_widen_it() -> None:
    paths = MadePaths(links={"/home/ann/ws/out": "/etc"})
    assert not path_pattern("out/**", paths).allows(path_forms("out/passwd", paths))
    assert path_pattern("out/**", paths).restricts(path_forms("/etc/passwd", paths))


def test_a_wildcard_of_the_shell_is_compared_name_by_name() -> None:
    secret = path_pattern("**/.env", MadePaths())
    could = {
        text: secret.could_restrict(text)
        for text in ("/a/\x01.py", "/a/.e\x01", "/a/\x01", "/\x01/.env", "/a/.env/\x01", "/.\x01/x")
    }
    assert could == {
        "/a/\x01.py": False,
        "/a/.e\x01": True,
        "/a/\x01": False,
        "/\x01/.env": True,
        "/a/.env/\x01": True,
        "/.\x01/x": True,
    }
    assert secret.could_restrict("/a/\x01", dots=True)
