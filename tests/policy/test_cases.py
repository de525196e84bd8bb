"""The open permission cases, line by line."""

from __future__ import annotations

from typing import Final

import pytest
from msgspec import Struct

from agent_widget.policy.options import Kind, Verdict
from agent_widget.policy.shell.model import Dialect
from agent_widget.policy.suggestion import suggested_rules
from tests.policy.support import MadePaths, ruling, verdict


class Case(Struct, frozen=True):
    """Lines and the verdicts that each may get under the rules."""

    name: str
    lines: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    shell: Dialect = "posix"


ASK: Final[tuple[Verdict, ...]] = ("ask",)
DENY: Final[tuple[Verdict, ...]] = ("deny",)
ALLOW: Final[tuple[Verdict, ...]] = ("allow",)
NOT_ALLOW: Final[tuple[Verdict, ...]] = ("ask", "deny")

CASES: Final = (
    Case(
        "PERM-01 chained commands",
        ("echo a && touch P", "echo a; touch P", "echo a || touch P", "echo a | tee P",
         "echo a & touch P", "echo a\ntouch P", "cd .. && touch P", "touch P && echo a"),
        ASK,
        allow=("bash(echo *)", "bash(cd *)"),
    ),
    Case(
        "PERM-01 a deny rule on a part denies the whole",
        ("echo a && touch P", "touch P | echo a", "echo $(touch P)", "( touch P ) & echo"),
        DENY,
        allow=("bash(*)",),
        deny=("bash(touch *)",),
    ),
    Case(
        "PERM-02 substitutions",
        ('echo "$(touch P)"', "echo `touch P`", "echo ${x:-$(touch P)}", "echo $((a[$(touch P)]))"),
        ASK,
        allow=("bash(echo *)",),
    ),
    Case("PERM-02 single quotes", ("echo '$(touch P)'",), ALLOW, allow=("bash(echo *)",)),
    Case(
        "PERM-04 redirections",
        ("echo x >> ~/.profile", "echo x >|./f", "echo x 2>f", ">f echo x", "echo x &>f",
         "echo x > $F", "echo x > /dev/tcp/host/80"),
        ASK,
        allow=("bash(echo *)",),
    ),
    Case(
        "PERM-04 nothing is written",
        ("echo x > /dev/null", "echo x 2>&1", "echo x 2>/dev/null >&2"),
        ALLOW,
        allow=("bash(echo *)",),
    ),
    Case(
        "PERM-04 write rules check the target",
        ("echo x > out/a", "echo x >> out/b/c", "cd out && echo x > /home/ann/ws/out/c"),
        ALLOW,
        allow=("bash(echo *)", "bash(cd *)", "write(out/**)"),
    ),
    Case(
        "PERM-04 write rules check the target, from every folder",
        ("echo x > a", "echo x > out/../a", "cd .. && echo x > out/a", "cd out && echo x > c",
         "echo x > ~/out/a"),
        ASK,
        allow=("bash(echo *)", "bash(cd *)", "write(out/**)"),
    ),
    Case("PERM-05 ask", ("CI=1 git push",), ASK, ("bash(*)",), ("bash(git *)",), ("bash(rm *)",)),
    Case(
        "PERM-05 deny",
        ("A=1 B=2 rm -r d", 'A="x y" rm d', "env A=1 rm d", "A=$(date) rm d"),
        DENY,
        ("bash(*)",), ("bash(git *)",), ("bash(rm *)",),
    ),
    Case(
        "PERM-05 variables that say what a program does",
        ("GIT_SSH_COMMAND=x git fetch", "PATH=. ls", "LD_PRELOAD=x ls", "PATH=.:$PATH; ls",
         "export PATH=.; ls", "for PATH in .; do ls; done", "read PATH < f; ls"),
        ASK,
        allow=("bash(git *)", "bash(ls *)", "bash(read *)"),
    ),
    Case(
        "PERM-05 an allow rule may name the variable",
        ("GIT_PAGER=cat git log", "CI=1 git log"),
        ALLOW,
        allow=("bash(GIT_PAGER=cat git log)", "bash(git log *)"),
    ),
    Case(
        "PERM-07 wrappers",
        ("env rm f", "timeout 5 rm f", "nohup rm f", "command rm f", "echo f | xargs rm",
         "find . -name f -exec rm {} +", 'bash -c "rm f"', 'eval "rm f"', "/bin/rm f",
         "find . -delete", "sudo rm f", "doas -u x rm f", "sh -c 'sh -c \"rm f\"'", "RM f"),
        DENY,
        allow=("bash(*)",),
        deny=("bash(rm *)",),
    ),
    Case(
        "PERM-07 programs that may run what they are given",
        ("flock l rm f", "script -c 'rm f'", "strace rm f", "busybox rm f", "ssh host rm f"),
        ASK,
        allow=("bash(*)", "bash(flock *)", "bash(script *)", "bash(strace *)", "bash(busybox *)",
               "bash(ssh *)"),
        deny=("bash(rm *)",),
    ),
    Case(
        "PERM-07 a wrapper with more rights needs a rule of its own",
        ("sudo git status", "doas git status"),
        ASK,
        allow=("bash(git *)",),
    ),
    Case(
        "PERM-07 wrappers are seen through for allow, too",
        ("timeout 60 git log", "env CI=1 git log", "nice -n 5 git log", "bash -c 'git log'",
         "time git log", "git log | xargs -n1 echo"),
        ALLOW,
        allow=("bash(git *)",),
    ),
    Case(
        "PERM-09 spellings of a denied command",
        ("rm -fr ~", "rm -r -f ~", "rm --recursive --force ~", 'rm -rf "$HOME"', "rm -rf ${HOME}/d",
         "rm -rf -- ~", "rm -rfv ~/d", "rm ~ -rf"),
        NOT_ALLOW,
        allow=("bash(rm *)",),
        deny=("bash(rm -rf ~*)",),
    ),
    Case(
        "PERM-09 built-in guard",
        ("rm -rf ~", "rm -rf /", "rm -rf .", "rm -rf ./", "rm -rf *", "rm -rf ..", "rm -rf $X",
         "rm -rf /*", "rm -r /home/ann", "rm -rf /home", "rm -rf ~/.", "cd / && rm -rf home",
         "find ~ -delete",
         "find ~ -name '*' -delete", "find . ! -name x -delete", "echo / | xargs rm -rf",
         "sh -c 'rm -rf ~'", 'rm -rf "$HOME"'),
        ASK,
        allow=("bash(*)", "bash(rm *)", "bash(find *)", "bash(cd *)", "bash(xargs *)"),
    ),
    Case("PERM-09 ordinary deletes", ("rm -rf build", "rm -rf ~/ws/out", "rm f", "rm -rf *.pyc",
          "find . -name '*.pyc' -delete"), ALLOW, allow=("bash(rm *)", "bash(find *)")),
    Case("PERM-11 word boundary", ("gitleaks --x", "lsof -i"), ASK,
         allow=("bash(git *)", "bash(ls *)")),
    Case("PERM-11 the program itself", ("git", "git status", "ls", "ls -la"), ALLOW,
         allow=("bash(git *)", "bash(ls *)")),
    Case("PERM-17 letter case in the shell", ("cat .Env", "cat sub/.ENV", "cat < .ENV",
         "grep x --file=.env", "cat ~/.SSH/id", "cd sub && cat .env"),
         DENY, allow=("bash(*)",), deny=("read(**/.env)", "read(~/.ssh/**)")),
    Case("PERM-17 what the run may make of it", ("cat .e*", 'cat "$X"', "echo .env | xargs cat"),
         ASK, allow=("bash(*)",), deny=("read(**/.env)",)),
    Case(
        "PERM-19 readers that can write",
        ("git diff --output=P HEAD", "git log --output=P -1", "git show --output P",
         "sort -o P f", "sort --out=P f", "uniq f P", "tree -o P", "date -s x", "find . -delete",
         "find . -fprint P", "git branch new", "git tag v1", "git remote add a b",
         "git -c core.pager=x log", "git grep -Ox y", "rg --pre x y", "cat /etc/passwd",
         "cat ../f", "cat ~/.ssh/id", "ls > P", "printf -v x y", "cat $X", "hostname x"),
        ASK,
    ),
    Case(
        "PERM-19 readers",
        ("git diff", "git log", "git show", "git diff HEAD~1 --stat", "git status -s",
         "git branch -a", "ls -la src", "cat README.md | head -5", "grep -rn x src", "pwd",
         "find . -name '*.py'", "sort f | uniq -c", "wc -l < f", "cd src && ls", "test -f a",
         "[ -f a ] && cat a", "git log --oneline | head", "command -v git", "ls 2>/dev/null"),
        ALLOW,
    ),
    Case(
        "PERM-21 PowerShell wrapper",
        ('powershell -NoProfile -Command "ssh -V"', "pwsh -c 'ssh -V'",
         "powershell.exe -Command ssh",
         "ssh -V"),
        DENY,
        deny=("ps(Remove-Item *)", "bash(ssh *)"),
    ),
    Case(
        "PERM-21 aliases",
        ("ri f", "del f", "rm f", "erase f", "rd d", 'iex "Remove-Item f"', "REMOVE-ITEM f",
         "Get-ChildItem; ri f", "Get-ChildItem | ri", "& 'ri' f", "(ri f)", "R`emove-Item f",
         "powershell -EncodedCommand cgBpACAAZgA=", "$x = ri f", "if (1) { del f }",
         "Microsoft.PowerShell.Management\\Remove-Item f", 'powershell -c "ssh -V"',
         "Get-Item x && rm f"),
        NOT_ALLOW,
        allow=("ps(*)", "bash(*)"),
        deny=("ps(Remove-Item *)", "bash(ssh *)"),
        shell="powershell",
    ),
    Case(
        "PERM-21 what is not certain asks",
        ("$x", "Get-Item $x", "& $cmd", ". ./x.ps1", "Get-Content (x)", "git `status",
         "'git' status",
         "./git status", ".\\git status", "git status > f", "[Math]::Pi", "1 + 1", "git @args",
         "Start-Process git", "cmd /c git status", "git --% x", "powershell -File x.ps1",
         "powershell -e AAAA", "git status & git log"),
        ASK,
        allow=("bash(git *)",),
        shell="powershell",
    ),
    Case(
        "PERM-21 names are compared without case",
        ("Git status", "GIT status", "git.exe status", "git status; git log", "git log | git apply",
         "GCI", "cat README.md", "Get-ChildItem -Name src"),
        ALLOW,
        allow=("bash(git *)",),
        shell="powershell",
    ),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_lines_of_a_case_get_its_verdicts(case: Case) -> None:
    given = {
        line: ruling(line, allow=case.allow, ask=case.ask, deny=case.deny, shell=case.shell)
        for line in case.lines
    }
    assert {line: each for line, each in given.items() if each.verdict not in case.verdicts} == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git status && rm -r ./tmp", ("bash(git status && rm -r ./tmp)",)),
        ("for i in 1 2; do\n echo $i\ndone", ()),
        ("cat > r.md <<'E'\nstatus: **/x:* (draft)\nE", ()),
        ("python - <<'E'\nprint(1)\nE", ()),
        ("A_SOCK=./s.1 ssh-add -l", ("bash(A_SOCK=./s.1 ssh-add -l)",)),
        ("rm -r ./tmp", ("bash(rm -r ./tmp)",)),
        ("ls *", ()),
        ("find . -name '*.py'", ("bash(find . -name '*.py')",)),
        ("git status -s", ("bash(git status -s)", "bash(git status *)")),
        ("git push origin main", ("bash(git push origin main)",)),
        ("echo \u202e x", ()),
    ],
)
def test_perm_13_14_25_what_is_offered_covers_the_very_call_and_no_star_of_it(
    line: str, expected: tuple[str, ...]
) -> None:
    assert suggested_rules("bash", {"command": line}) == expected
    for rule in expected:
        assert verdict(line, allow=[rule]) == "allow"
        assert verdict("rm -r ./other", allow=[rule]) == "ask"
        assert verdict(f"{line}; touch P", allow=[rule]) == "ask"


def test_perm_14_another_script_of_the_same_kind_asks() -> None:
    first = "python - <<'E'\nprint(1)\nE"
    second = "python - <<'E'\nimport os; os.remove('f')\nE"
    rule = f"bash({first})"
    assert verdict(first, allow=[rule]) == "allow"
    assert verdict(second, allow=[rule]) == "ask"


LINKED: Final = MadePaths(links={"/home/ann/ws/link": "/home/ann/out"})


@pytest.mark.parametrize(
    ("tool", "path", "kind", "expected"),
    [
        ("write_file", "link/a.txt", "edit", "ask"),
        ("read_file", "link/../../etc/hosts", "read", "allow"),
        ("write_file", "link/../../etc/hosts", "edit", "ask"),
        ("write_file", "a.txt", "edit", "allow"),
        ("write_file", "d/../a.txt", "edit", "allow"),
        ("write_file", "../ws/a.txt", "edit", "allow"),
        ("write_file", "../a.txt", "edit", "ask"),
        ("write_file", "a.txt.", "edit", "ask"),
        ("write_file", ".git/hooks/pre-commit", "edit", "ask"),
    ],
)
def test_perm_15_paths_are_checked_where_they_lead(
    tool: str, path: str, kind: Kind, expected: Verdict
) -> None:
    given = ruling(
        path, tool=tool, argument="path", kind=kind, paths=LINKED, allow=["write(/home/ann/ws/**)"]
    )
    assert given.verdict == expected


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("link/a.txt", "write(link/**)"),
        ("link/a.txt", "write(../out/**)"),
        ("LINK/A.TXT", "write(link/**)"),
        ("../out/a.txt", "write(link/**)"),
        ("../OUT/a.txt", "write(/home/ann/out)"),
        ("d/../link", "write(link)"),
    ],
)
def test_perm_15_deny_on_either_form_wins(path: str, rule: str) -> None:
    given = ruling(
        path, tool="write_file", argument="path", kind="edit", paths=LINKED, allow=["write(/**)"],
        deny=[rule],
    )  # fmt: skip
    assert given.verdict == "deny"


@pytest.mark.parametrize(
    "path", [".ENV", "sub/.Env", "~/.SSH/id_x", ".env.", ".env::$DATA", ".ssh/x"]
)
def test_perm_17_deny_ignores_letter_case_and_dots(path: str) -> None:
    given = ruling(
        path,
        tool="read_file",
        argument="path",
        kind="read",
        deny=["read(**/.env)", "read(~/.ssh/**)", "read(.ssh)"],
    )
    assert given.verdict == "deny"


def test_perm_17_allow_is_exact() -> None:
    for path, expected in (("docs/a", "allow"), ("Docs/a", "ask"), ("docs/A", "allow")):
        given = ruling(
            path, tool="write_file", argument="path", kind="edit", allow=["write(docs/**)"]
        )
        assert given.verdict == expected


def test_rend_14_invisible_characters_never_run_silently() -> None:
    line = "echo \u202e f/ tsil ; rm -r /\u202c ok"
    assert verdict(line, allow=["bash(*)"]) == "ask"
    assert verdict("echo 'שלום עולם'", allow=["bash(echo *)"]) == "allow"
