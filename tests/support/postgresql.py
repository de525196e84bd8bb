"""Find a PostgreSQL server for the tests, or install one where that is allowed, and start it.

Needs the standard library alone, so that it can run before anything is installed:

    python tests/support/postgresql.py            print the folder of its programs, or nothing
    python tests/support/postgresql.py --install  first install what the system lacks

Exit status 1: there is none in CI (CI=true). With AGENT_WIDGET_POSTGRESQL, the URL of a database
in which schemas may be created, the tests use that one and start none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

SYSTEM_PACKAGES = ("postgresql",)
# Where systems put the programs of a server, which are not on PATH there.
FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
PROGRAMS = ("initdb", "pg_ctl", "postgres")
# It need not outlive the power, and is used by a handful of connections.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
}
HOW_TO_GET_ONE = (
    "No PostgreSQL server was found. Any one of these gets one:\n"
    "  - install PostgreSQL so that initdb and pg_ctl are on PATH\n"
    "  - set AGENT_WIDGET_POSTGRESQL to the URL of a database to test in\n"
    "  - as root on Debian, run `python tests/support/postgresql.py --install`"
)


class PostgresqlError(Exception):
    """A server that CI must have is not there, or one that is there does not start."""


def obtained_programs(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of the programs, installed first when there is none and this is CI.

    Raises `PostgresqlError` when there is none in CI.
    """
    found = found_programs(environ)
    if found is None and in_ci(environ):
        if may_install():
            install()
            found = found_programs(environ)
        if found is None:
            raise PostgresqlError(HOW_TO_GET_ONE)
    return found


def found_programs(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder with the programs of a server: on PATH, or the newest of this system."""
    folders = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    for pattern in FOLDERS:
        root, _, rest = pattern.partition("/")
        folders += sorted(Path(f"{root}/").glob(rest), key=version_in, reverse=True)
    return next((folder for folder in folders if has_programs(folder)), None)


def has_programs(folder: Path) -> bool:
    """Whether all programs that are needed are in the folder."""
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def version_in(folder: Path) -> list[int]:
    """The numbers in the path, by which versions are compared."""
    return [int(number) for number in re.findall(r"\d+", str(folder))]


def in_ci(environ: Mapping[str, str]) -> bool:
    """Whether this is an automatic run, in which nothing may be skipped for want of a server."""
    return environ.get("CI", "").lower() not in {"", "0", "false"}


def may_install() -> bool:
    """Whether system packages can be installed: as root, with apt-get."""
    return os.name == "posix" and os.geteuid() == 0 and bool(shutil.which("apt-get"))


def install() -> None:
    """Install Debian's PostgreSQL; raise `PostgresqlError` when apt-get fails."""
    apt = ["apt-get", "-q", "-y", "-o", "Acquire::Retries=5", "-o", "Dpkg::Use-Pty=0"]
    command = [*apt, "install", "--no-install-recommends", *SYSTEM_PACKAGES]
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # The lists of packages are often there already, and take longer than the packages.
    for arguments in (command, [*apt, "update"], command):
        # stdout carries the folder alone.
        done = subprocess.run(arguments, env=environ, stdout=sys.stderr, check=False)
        if done.returncode == 0 and arguments is command:
            return
    raise PostgresqlError(f"`{' '.join(command)}` failed; what it said is above.")


@contextmanager
def started_server(programs: Path) -> Iterator[str]:
    """The URL of a new server that ends with the context; only this user can reach it.

    It listens on a socket in a folder of its own, and never runs as root, which it refuses.
    """
    # Short: the path of a socket has about 100 characters at most.
    parent = "/tmp" if Path("/tmp").is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="aw-postgresql-", dir=parent))
    data, log = folder / "data", folder / "log"
    control = [str(programs / "pg_ctl"), "-D", str(data), "-w", "-t", "60"]
    settings = " ".join(f"-c {name}='{value}'" for name, value in SETTINGS.items())
    account = unprivileged_account()
    if account is not None:
        shutil.chown(folder, account)
    try:
        initdb = [str(programs / "initdb"), "-D", str(data), "-U", "tester", "-A", "trust"]
        run([*initdb, "--no-sync", "-E", "UTF8", "--locale=C"], folder, account)
        run([*control, "-l", str(log), "-o", f"-k '{folder}' {settings}", "start"], folder, account)
        try:
            yield f"postgresql://tester@/postgres?host={folder}"
        finally:
            run([*control, "-m", "immediate", "stop"], folder, account)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unprivileged_account() -> str | None:
    """Whose process the server is to be: someone else's than root's, else this user's (None)."""
    if os.geteuid() != 0:
        return None
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def run(command: list[str], folder: Path, account: str | None) -> None:
    """Run a program to its end as `account`; raise `PostgresqlError` with what it said."""
    extra_groups: list[str] | None = None if account is None else []
    # Into a file, not a pipe: the server inherits it and never closes it.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command,
            cwd=folder,
            user=account,
            extra_groups=extra_groups,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output.seek(0)
        said = output.read().decode(errors="replace")
    if done.returncode:
        log = folder / "log"
        logged = log.read_text(errors="replace") if log.exists() else ""
        message = (
            f"`{' '.join(command)}` failed with exit status {done.returncode}:\n{said}{logged}"
        )
        raise PostgresqlError(message)


def main(arguments: list[str]) -> int:
    """Print the folder; exit status 1 when there is none and one must be there."""
    try:
        if "--install" in arguments and found_programs() is None and may_install():
            install()
        found = obtained_programs()
    except PostgresqlError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(found or HOW_TO_GET_ONE, file=sys.stdout if found else sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
