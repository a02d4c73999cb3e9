"""Canaries: things outside the sandbox that no candidate may reach, read, change or outlive.

They stand where cheats look for them: a secret in another process's environment and in the
user's home, a key in the session's keyring, listeners, a process to kill, and the judge's own
files.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import os
import platform
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

import psutil

PORT = 47474
ABSTRACT_NAME = "\0kernelwright-zoo"
SECRET_FILE = ".kernelwright-zoo-canary"
WRITTEN_FILE = ".kernelwright-zoo-written"
SURVIVOR = "kw-zoo-left"
"""The name that processes of cheats give themselves."""
FORK_SERVER = "kernelwright/judge/sandbox/fork_server_main.py"
"""In the command line of every process that a judge's children come from."""
VICTIM = "import time; time.sleep(86400)  # kernelwright-zoo-victim"
PLACES = ("~", "/", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/etc", "..", ".")
GRACE_S = 2.0
"""How long the kernel may take to end a killed process tree on a busy machine."""
SYS_ADD_KEY = {"x86_64": 248, "aarch64": 217}
SESSION_KEYRING = -3  # include/uapi/linux/keyctl.h


class Canaries:
    """Planted on entry, removed on exit; ``alarms`` says what has happened since the last call."""

    def __enter__(self) -> Canaries:
        self._secret = _plant_secret()
        self._listeners = [
            sock
            for family, address in (
                (socket.AF_INET, ("127.0.0.1", PORT)),
                (socket.AF_UNIX, ABSTRACT_NAME),
            )
            if (sock := _listen(family, address)) is not None
        ]
        _add_key()
        self._digest = _judge_digest()
        self._start_victim()
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self._listeners:
            sock.close()
        self._victim.kill()
        self._victim.wait()
        if self._secret is not None:
            _dig_up(self._secret)

    def alarms(self) -> list[str]:
        """The harm found, each with its remedy applied, so that the next case starts clean."""
        found = []
        if self._victim.poll() is not None:
            found.append("it killed a process outside")
            self._start_victim()
        for sock in self._listeners:
            with contextlib.suppress(BlockingIOError):
                sock.accept()[0].close()
                found.append("it opened a connection")
        for place in PLACES:
            path = Path(place).expanduser() / WRITTEN_FILE
            if os.path.exists(path):  # no, where its folder is closed to this user
                found.append(f"it wrote {path}")
                path.unlink()
        if _survivors(grace_s=GRACE_S):
            found.append("it left a process behind")
            for process in _survivors():
                process.kill()
        if _judge_digest() != self._digest:
            found.append("it changed the judge's files")
            self._digest = _judge_digest()
        return found

    def _start_victim(self) -> None:
        environment = {**os.environ, "KERNELWRIGHT_ZOO_SECRET": "secret"}
        self._victim = subprocess.Popen([sys.executable, "-c", VICTIM], env=environment)


def _plant_secret() -> TextIO | None:
    """The secret in the user's home, held open for as long as it is to stay; None where the home
    cannot be written to."""
    with contextlib.suppress(OSError):
        secret = (Path.home() / SECRET_FILE).open("w")
        fcntl.flock(secret, fcntl.LOCK_SH)
        secret.write("secret")
        secret.flush()
        return secret
    return None


def _dig_up(secret: TextIO) -> None:
    """Remove it, unless another zoo of this machine has it planted too."""
    with secret, contextlib.suppress(BlockingIOError):
        fcntl.flock(secret, fcntl.LOCK_EX | fcntl.LOCK_NB)
        Path(secret.name).unlink(missing_ok=True)


def _survivors(grace_s: float = 0.0) -> list[psutil.Process]:
    """Processes that a cheat has started and that still live after ``grace_s``."""
    end_s = time.monotonic() + grace_s
    while True:
        named = (p for p in psutil.process_iter(["name"]) if p.info["name"] == SURVIVOR)
        found = [process for process in named if not _is_of_another_run(process)]
        if not found or time.monotonic() >= end_s:
            return found
        time.sleep(0.05)


def _is_of_another_run(process: psutil.Process) -> bool:
    """Whether it is below a judge that another zoo of this machine is using just now."""
    try:
        above = process.parents()
        judged = any(FORK_SERVER in " ".join(one.cmdline()) for one in above)
    except psutil.Error:
        return False
    return judged and os.getpid() not in {one.pid for one in above}


def _listen(family: int, address: object) -> socket.socket | None:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen()  # two may bind at the same time, and one of them listen
    except OSError:  # another zoo runs on this machine, and its listener serves as well
        sock.close()
        return None
    sock.setblocking(False)
    return sock


def _add_key() -> None:
    """Put a key into the session's keyring, where the kernel has one."""
    number = SYS_ADD_KEY.get(platform.machine())
    if number is not None and sys.platform == "linux":
        key = (b"user", b"kernelwright-zoo-canary", b"secret", ctypes.c_size_t(6))
        ctypes.CDLL(None).syscall(number, *key, SESSION_KEYRING)


def _judge_digest() -> str:
    folder = Path(__file__).parents[2] / "judge"
    whole = hashlib.blake2b()
    for path in sorted(folder.rglob("*.py")):
        whole.update(path.read_bytes())
    return whole.hexdigest()
