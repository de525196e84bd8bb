"""What is known of programs: which only read, which run others, which names matter.

Small on purpose. A program that is not named here is not forbidden; it needs a rule of its own.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .model import names


class Reader(Struct, frozen=True):
    """A program that only reads, unless an option of ``writes`` (or a prefix of it) is given.

    ``operands`` bounds how many words that are no options it takes; ``files`` False means that its
    words name no files.
    """

    writes: tuple[str, ...] = ()
    operands: int | None = None
    files: bool = True


READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(
        [
            "cat",
            "head",
            "tail",
            "wc",
            "ls",
            "cut",
            "tr",
            "nl",
            "rev",
            "tac",
            "cmp",
            "comm",
            "diff",
            "basename",
            "dirname",
            "realpath",
            "readlink",
            "stat",
            "du",
            "df",
            "grep",
            "egrep",
            "fgrep",
            "md5sum",
            "sha1sum",
            "sha256sum",
            "sha512sum",
            "fold",
            "expand",
            "jq",
            "column",
            "test",
            "[",
            "cd",
        ],
        Reader(),
    ),
    **dict.fromkeys(
        [
            "pwd",
            "echo",
            "true",
            "false",
            ":",
            "whoami",
            "id",
            "uname",
            "which",
            "type",
            "sleep",
            "seq",
            "arch",
            "nproc",
            "uptime",
            "groups",
            "tty",
            "export",
            "unset",
            "local",
            "readonly",
            "declare",
            "typeset",
            "shift",
            "return",
            "exit",
            "wait",
            "break",
            "continue",
            "read",
        ],
        Reader(files=False),
    ),
    "printf": Reader(("-v",), files=False),
    "hostname": Reader(operands=0, files=False),
    "date": Reader(("-s", "--set"), files=False),
    "sort": Reader(("-o", "--output", "--compress-program", "-T", "--temporary-directory")),
    "uniq": Reader(operands=1),
    "file": Reader(("-C", "--compile", "-m", "--magic-file")),
    "tree": Reader(("-o", "--output")),
    "rg": Reader(("--pre", "--hostname-bin", "--search-zip", "-z")),
    "find": Reader(
        ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls")
    ),
}

GIT_READERS: Final[dict[str, Reader]] = {
    **dict.fromkeys(
        ["diff", "log", "show", "shortlog", "whatchanged", "rev-list", "diff-tree", "diff-index"],
        Reader(("--output", "--ext-diff", "--no-index")),
    ),
    **dict.fromkeys(
        [
            "status",
            "rev-parse",
            "ls-files",
            "ls-tree",
            "describe",
            "blame",
            "merge-base",
            "name-rev",
            "count-objects",
            "cherry",
            "show-ref",
            "version",
        ],
        Reader(("--output",)),
    ),
    "branch": Reader(operands=0),
    "tag": Reader(operands=0),
    "remote": Reader(operands=0),
    "grep": Reader(("-O", "--open-files-in-pager", "--no-index")),
}
GIT_LISTS: Final = names("-a -r -v -vv -l --list --all --remotes --verbose --show-current -n")

SHELLS: Final = names("sh bash dash zsh ksh ash rbash mksh")
POWERSHELLS: Final = names("powershell pwsh")

FAMILIAR: Final = names(
    "cp mv rm mkdir rmdir touch ln chmod chown chgrp tee dd mktemp truncate shuf split paste "
    "join od xxd hexdump cal free ps kill pkill killall unzip gzip gunzip bzip2 "
    "bunzip2 xz unxz base64 curl clear cksum sum b2sum tty tput lsblk lscpu "
    "export unset set shift return exit wait jobs umask ulimit readonly local declare typeset "
    "read getopts pushd popd dirs break continue times disown fg bg logout ss netstat ping dig "
    "host nslookup ip ifconfig patch unexpand fmt pr tsort numfmt factor expr yes sync stty "
    "git sed awk find lsof pgrep pip pip3 pytest ruff black mypy isort flake8 tsc eslint "
    "prettier Remove-Item"
) | frozenset(READERS)
"""Programs that run no other program, apart from what is looked for by `wrappers`."""

RUNS_WITH: Final[dict[str, tuple[str, ...]]] = {
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "rg": ("--pre", "--hostname-bin"),
    "curl": ("-K", "--config", "--engine", "--proto-default"),
    "pytest": ("-p", "-c", "--rootdir", "--confcutdir", "-o", "--override-ini", "--config-file"),
    "eslint": ("-c", "--config", "--rulesdir", "--resolve-plugins-relative-to", "-f", "--format"),
    "prettier": ("--plugin", "--config"),
    "mypy": ("--config-file", "--python-executable"),
}
"""Options by which a familiar program runs another; with them it is not familiar."""

HARMLESS_SET: Final = re.compile(r"[-+][euxvfE]*o?|pipefail|errexit|nounset|noglob|xtrace|verbose")
"""Arguments of ``set`` that change no more than when a script stops or what it prints."""

EVALUATORS: Final = names(
    "read printf test [ unset declare typeset local export readonly wait getopts let mapfile "
    "readarray"
)
"""Builtins that evaluate a name such as ``a[$(cmd)]``."""

ODD_BUILTINS: Final = names(
    "bind enable hash complete compgen compopt fc history mapfile readarray let alias unalias "
    "shopt caller suspend source . coproc"
)

NO_FILES: Final = frozenset(name for name, reader in READERS.items() if not reader.files) | names(
    "set kill"
)
"""Programs whose words are no file names."""

SETS_BY_NAME: Final = names("read getopts mapfile readarray printf unset wait let")

BINARIES: Final = names(
    "/bin /usr/bin /usr/local/bin /sbin /usr/sbin /usr/local/sbin /opt/homebrew/bin"
)

HARMLESS_VARIABLES: Final = re.compile(
    r"CI|LANG|LANGUAGE|LC_[A-Z]+|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR(_FORCE)?|TERM|COLUMNS|LINES|DEBUG"
    r"|VERBOSE|LOG_LEVEL|RUST_LOG|RUST_BACKTRACE|NODE_ENV|RAILS_ENV|FLASK_ENV|APP_ENV|ENVIRONMENT"
    r"|PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|PYTHONHASHSEED|PYTHONIOENCODING|PYTHONUTF8"
    r"|DEBIAN_FRONTEND|PORT|HOST|CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|GOOS|GOARCH|CGO_ENABLED"
)
"""Variables that change no more than how a program talks."""

PRIVATE_VARIABLES: Final = re.compile(r"[a-z][a-z0-9_]*|[A-Z]")
"""Names that scripts use for themselves."""

COMMANDING_VARIABLES: Final = re.compile(
    r"PATH|HOME|IFS|ENV|BASH.*|SHELL.*|PS[0-4]|PROMPT.*|CDPATH|GLOBIGNORE|POSIXLY_CORRECT|LD_.*"
    r"|DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|MALLOC_.*|GIT_.*|SSH_.*|.*PAGER.*|.*EDITOR.*|VISUAL"
    r"|LESS.*|MORE|MAN.*|BROWSER|FCEDIT|PYTHON(PATH|HOME|STARTUP|INSPECT|BREAKPOINT|WARNINGS|USERBASE"
    r"|PLATLIBDIR|EXECUTABLE|PYCACHEPREFIX)|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|NODE_(OPTIONS|PATH|REPL.*)"
    r"|npm_.*|NPM_.*|YARN_.*|DENO_.*|BUN_.*|JAVA_.*|_JAVA_.*|JDK_.*|MAVEN_.*|GRADLE_.*|CLASSPATH|LUA.*"
    r"|PHP.*|R_.*|MAKE.*|MFLAGS|GNUMAKEFLAGS|CC|CXX|CPP|LD|AR|AS|RUSTC.*|RUSTFLAGS|CARGO.*|GO.*"
    r"|CGO_.*|TAR.*|RSYNC.*|GREP_.*|RIPGREP_.*|CURL_.*|WGET.*|DOCKER_.*|KUBE.*|AWS_.*|SUDO_.*|TMPDIR"
    r"|PIP_.*|UV_.*|PYTEST_.*|TOX_.*|VIRTUAL_ENV|CONDA_.*|TERMINFO.*|TERMCAP|INPUTRC|HIST.*|COMP_.*"
    r"|PAGER|XDG_.*|DISPLAY|ZDOTDIR|FPATH|FIGNORE|EXECIGNORE|OPT(ARG|IND|ERR)|http_proxy|https_proxy"
    r"|HTTP_PROXY|HTTPS_PROXY|ALL_PROXY|all_proxy|.*_RSH|.*_COMMAND|.*_PROXY|.*OPTS|.*OPTIONS"
)
"""Variables that say which program runs, or what it loads: only the very same text allows them."""

GIT_HARMLESS_SETTINGS: Final = re.compile(
    r"(?:color\..*|user\.(?:name|email)|core\.(?:quotepath|autocrlf|longpaths|abbrev|filemode)"
    r"|advice\..*|log\.date|diff\.(?:algorithm|renames|colormoved)|pull\.rebase|init\.defaultbranch"
    r"|commit\.gpgsign|push\.default|fetch\.prune|safe\.directory|http\.postbuffer)=.*",
    re.IGNORECASE,
)
GIT_RUNS_WITH: Final = (
    "--exec-path", "--upload-pack", "--receive-pack", "--exec", "--ext-diff",
    "--open-files-in-pager",
    "--extcmd", "--tool", "--template", "--config", "--config-env", "--sendmail-cmd",
    "--smtp-server",
    "--tree-filter", "--index-filter", "--msg-filter", "--env-filter", "--parent-filter",
    "--commit-filter", "--tag-name-filter", "--setup", "--editor", "--gpg-sign", "--attr-source",
    "--git-dir", "--work-tree", "--separate-git-dir", "--strategy", "--command",
)  # fmt: skip
GIT_COMMANDS: Final = names(
    "add am apply archive blame branch bundle checkout cherry cherry-pick clean clone commit "
    "count-objects describe diff diff-index diff-tree fetch format-patch fsck gc grep init log "
    "ls-files ls-remote ls-tree merge merge-base mv name-rev notes prune pull push range-diff "
    "rebase reflog remote repack reset restore rev-list rev-parse revert rm shortlog show show-ref "
    "sparse-checkout stash status switch tag version whatchanged worktree help cat-file"
)
"""Commands of git itself; another word may be an alias, which can run anything."""

SED_SCRIPT: Final = re.compile(
    r"(?s)(?:"
    r"(?:\d+|\$|/[^/\\\n]*/)?(?:,(?:\d+|\$|/[^/\\\n]*/))?[pdq=]"
    r"|(?:\d+|\$)?s(?P<d>[/|,#:@])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[gpIi0-9]*"
    r")"
)
"""Scripts of sed that neither run a command nor write a file."""

AWK_DANGERS: Final = re.compile(r"system|getline|[|>@]|\bload\b|close|fflush")
"""What a program of awk needs to run a command or to write a file."""

NO_STAR: Final = (
    SHELLS
    | POWERSHELLS
    | names(
        "python python2 python3 perl ruby node deno bun php lua Rscript julia tclsh expect "
        "osascript awk gawk sed find xargs env sudo doas su ssh eval exec rm dd mkfs curl wget "
        "docker podman kubectl make npx uvx pipx bunx parallel watch time nohup timeout nice "
        "ionice stdbuf setsid command builtin "
        "Invoke-Expression Remove-Item Start-Process cmd"
    )
)
"""Programs for which no rule with a star is ever suggested."""

VERBS: Final[dict[str, int]] = dict.fromkeys(
    [
        "git",
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "go",
        "pip",
        "pip3",
        "poetry",
        "uv",
        "ruff",
        "dotnet",
        "gh",
        "brew",
        "apt",
        "apt-get",
        "conda",
    ],
    1,
)
"""Programs whose first word says what they do: ``git status`` is a command of its own."""
