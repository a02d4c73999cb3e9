"""A PostgreSQL server that tests start themselves."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

PROGRAMS = [Path(found).parent for found in [shutil.which("pg_ctl")] if found]
PROGRAMS += sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # where Debian keeps it

LIMIT_S = 300
"""Seconds to start or stop: under load a minute, which is usual, was not enough."""


def as_owner(*command):
    """Run as an ordinary user: the server refuses to run as root."""
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    subprocess.run([str(word) for word in command], check=True, capture_output=True, **user)


class Server:
    """A PostgreSQL server of the test's own."""

    def __init__(self, folder):
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
            for parent in folder.parents:
                if parent.is_relative_to(tempfile.gettempdir()) and parent.stat().st_uid == 0:
                    parent.chmod(parent.stat().st_mode | 0o055)
        self._folder, self._data = folder, folder / "data"
        as_owner(PROGRAMS[-1] / "initdb", "--auth=trust", "--username=kw", "-N", "-D", self._data)
        self.start()

    def url(self, user="kw"):
        return f"postgresql://{user}@/postgres?host={self._folder}"

    @property
    def socket(self):
        return self._folder / ".s.PGSQL.5432"

    def start(self):
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder} -c fsync=off"
        self._control("-l", self._folder / "log", "-w", "-o", options, "start")

    def stop(self):
        self._control("-m", "immediate", "stop")

    def _control(self, *words):
        as_owner(PROGRAMS[-1] / "pg_ctl", "-t", LIMIT_S, "-D", self._data, *words)
