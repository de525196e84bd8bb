"""PowerShell lines, in a small grammar: what lies outside it is a doubt, and a doubt asks.

There is no parser to trust, so only plain words and quoted texts between ``;``, ``|``, ``&&``,
``||`` and newlines are certain. Beyond that, the words are still searched for what rules deny.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Final

from .model import GLOB, Command, Redirect, Script, Word, names, readable
from .syntax import NotUnderstood, check_characters

ALIASES: Final[dict[str, str]] = {
    alias: name
    for name, aliases in {
        "Remove-Item": "ri rm rmdir del erase rd",
        "Get-ChildItem": "gci ls dir",
        "Get-Content": "gc cat type",
        "Set-Content": "sc",
        "Add-Content": "ac",
        "Clear-Content": "clc",
        "Copy-Item": "cpi cp copy",
        "Move-Item": "mi mv move",
        "Rename-Item": "rni ren",
        "New-Item": "ni",
        "mkdir": "md",
        "Get-Item": "gi",
        "Set-Item": "si",
        "Clear-Item": "cli",
        "Invoke-Item": "ii",
        "Get-ItemProperty": "gp",
        "Set-ItemProperty": "sp",
        "Remove-ItemProperty": "rp",
        "Set-Location": "sl cd chdir",
        "Push-Location": "pushd",
        "Pop-Location": "popd",
        "Get-Location": "gl pwd",
        "Write-Output": "echo write",
        "Invoke-Expression": "iex",
        "Invoke-Command": "icm",
        "Invoke-WebRequest": "iwr wget curl",
        "Invoke-RestMethod": "irm",
        "Start-Process": "saps start",
        "Stop-Process": "spps kill",
        "Get-Process": "gps ps",
        "Start-Job": "sajb",
        "ForEach-Object": "% foreach",
        "Where-Object": "? where",
        "Select-Object": "select",
        "Sort-Object": "sort",
        "Measure-Object": "measure",
        "Select-String": "sls",
        "Compare-Object": "compare diff",
        "Tee-Object": "tee",
        "Set-Variable": "sv set",
        "Get-Variable": "gv",
        "Remove-Variable": "rv",
        "Set-Alias": "sal",
        "New-Alias": "nal",
        "Import-Module": "ipmo",
        "Get-Command": "gcm",
        "Get-Help": "help man",
        "Clear-Host": "clear cls",
        "Start-Sleep": "sleep",
        "Add-Type": "",
        "Enter-PSSession": "etsn",
        "New-PSSession": "nsn",
        "Get-History": "h history ghy",
        "Invoke-History": "r ihy",
    }.items()
    for alias in aliases.split()
}
_RUNS_TEXT: Final = names(
    "invoke-expression invoke-command start-process start-job invoke-item foreach-object "
    "where-object set-alias new-alias add-type import-module invoke-history invoke-wmimethod "
    "invoke-cimmethod register-scheduledtask register-objectevent enter-pssession "
    "new-pssession set-variable new-service cmd wsl powershell_ise wscript cscript mshta "
    "rundll32 regsvr32 conhost forfiles schtasks at using function filter workflow class "
    "trap switch if while for do foreach try param begin process end return throw data "
    "dynamicparam"
)
_WORD: Final = re.compile(
    r"""(?x)
      (?P<space>[ \t]+)
    | (?P<separator>\r?\n|;|\|\||&&|\|)
    | (?P<merge>\d>&\d|\*>&\d)
    | (?P<redirect>[1-6*]?>>?)
    | (?P<text>(?:
          [A-Za-z0-9_./\\:=,*?@%+~^!\[\]-]
        | '(?:[^'\u2018-\u201b]|'')*'
        | "(?:[^"$`\u201c-\u201e]|"")*"
      )+)
    """
)
_ODD: Final = re.compile(r"[(){}$@&`#\[\]\"'<>,]+")


def powershell_script(source: str) -> Script:
    """What ``source`` would do in PowerShell. Never raises: what is not understood is a doubt."""
    try:
        check_characters(source)
        return _strict(source)
    except NotUnderstood as reason:
        return Script(_searched(source), doubts=(str(reason),))


def code_of_arguments(args: Sequence[Word]) -> tuple[str | None, str | None]:
    """The code that ``powershell …`` is given, and a reason for doubt.

    An encoded command is decoded so that deny rules see it, and is doubtful all the same.
    """
    for at, word in enumerate(args):
        text = word.text.casefold()
        if not word.known:
            return None, "an argument of PowerShell is only known in the run"
        name = text.lstrip("-/\u2013\u2014")
        if name == text:
            code = " ".join(each.text for each in args[at:])
            return code, "PowerShell may take this as a command or as a file"
        name = name.partition(":")[0]
        if name and "command".startswith(name):
            rest = args[at + 1 :]
            if not rest or not all(each.known for each in rest) or rest[0].text == "-":
                return None, "the code of PowerShell is only known in the run"
            return " ".join(each.text for each in rest), None
        if name in {"e", "ec"} or (len(name) > 1 and "encodedcommand".startswith(name)):
            encoded = args[at + 1].text if at + 1 < len(args) else ""
            return _decoded(encoded), "the command is encoded"
        if name and ("file".startswith(name) or name == "encodedarguments"):
            return None, "PowerShell runs a file"
        if name not in {"noprofile", "nop", "nologo", "noninteractive", "sta", "mta", "noni"}:
            rest_text = " ".join(each.text for each in args[at + 1 :])
            return rest_text or None, f"the option {word.text} of PowerShell is not understood"
    return None, "PowerShell reads its commands from its input"


def canonical_name(name: str) -> str:
    """The cmdlet that ``name`` means: aliases, modules, folders and extensions gone."""
    base = re.split(r"[\\/]", name.strip("'\""))[-1].casefold()
    base = re.sub(r"\.(exe|cmd|bat|com|ps1)$", "", base)
    return ALIASES.get(base, base).casefold()


def _strict(source: str) -> Script:
    commands: list[Command] = []
    redirects: list[Redirect] = []
    doubts: list[str] = []
    words: list[Word] = []
    redirecting = joined = False
    at = 0
    while at < len(source):
        found = _WORD.match(source, at)
        if found is None:
            raise NotUnderstood(f"{source[at]!r} is not certain in PowerShell")
        at = found.end()
        match found.lastgroup:
            case "separator":
                _end(words, commands, doubts)
                words, joined = [], False
            case "redirect":
                redirecting, joined = True, False
            case "text":
                if joined or (not words and found["text"][0] in "'\""):
                    raise NotUnderstood("the ends of its words are not certain in PowerShell")
                word = Word(re.sub(r"[*?\[]", GLOB, _value(found["text"])))
                if redirecting:
                    redirects.append(Redirect("write", word))
                else:
                    words.append(word)
                redirecting, joined = False, True
            case _:
                joined = False
    if redirecting:
        raise NotUnderstood("a redirection has no file")
    _end(words, commands, doubts)
    return Script(tuple(commands), tuple(redirects), tuple(doubts))


def _end(words: list[Word], commands: list[Command], doubts: list[str]) -> None:
    if not words:
        return
    name = words[0].text
    canonical = canonical_name(name)
    if not re.fullmatch(r"[A-Za-z0-9_./\\:+-]+", name) or name[0] in ".:+-0123456789":
        doubts.append(f"what {readable(name)} means is not certain in PowerShell")
    elif re.search(r"[/\\]", name):
        doubts.append(f"{name} is a program of a folder")
    if canonical in _RUNS_TEXT:
        doubts.append(f"{canonical} runs what its arguments say")
        rest = " ".join(word.text for word in words[1:])
        commands.extend(_searched(rest))
    if any(word.text.startswith(("--%", "@")) for word in words):
        doubts.append("an argument is not certain in PowerShell")
    if any("," in word.text for word in words[1:]):
        parts = [Word(part) for word in words[1:] for part in word.text.split(",") if part]
        commands.append(_named(canonical, parts))
    commands.append(_named(canonical, words[1:]))


def _named(canonical: str, args: Sequence[Word]) -> Command:
    """The command under the one name that rules are compared with."""
    unseen = None if canonical in _PLAIN else f"{canonical} may run other programs"
    return Command((Word(canonical), *args), unseen=unseen)


_PLAIN: Final = names(
    "get-childitem get-content get-item get-location set-location write-output write-host "
    "test-path remove-item copy-item move-item rename-item new-item mkdir set-content "
    "add-content select-object sort-object measure-object select-string compare-object "
    "get-process get-date get-command get-help clear-host start-sleep out-null out-string "
    "format-table format-list resolve-path split-path join-path convertto-json "
    "convertfrom-json get-filehash whoami hostname"
)


def _value(text: str) -> str:
    """The text of a word without its quotes."""

    def plain(found: re.Match[str]) -> str:
        single, double = found[1], found[2]
        return single.replace("''", "'") if single is not None else double.replace('""', '"')

    return re.sub(r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)\"""", plain, text)


def _searched(source: str) -> tuple[Command, ...]:
    """Every stretch of ``source`` that could be a command, for deny rules to see."""
    source = source[:20_000]
    commands: list[Command] = []
    for text in dict.fromkeys((source.replace("`", ""), _ODD.sub(" ", source.replace("`", "")))):
        for stretch in re.split(r"[;|&(){}\n=]+", text):
            words = [word for word in re.split(r"[\s'\",$@<>]+", stretch) if word][:200]
            commands.extend(
                _named(canonical_name(words[at]), [Word(w) for w in words[at + 1 :]])
                for at in range(min(len(words), 40))
            )
    return tuple(dict.fromkeys(commands))


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-16-le")
    except (binascii.Error, ValueError):
        return None
