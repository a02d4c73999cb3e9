"""What the judge's own sandbox gives beside bubblewrap's, by trying the same things in both.

    python benchmarks/judge_sandboxes.py

bubblewrap is called as strictly as it can be without more code of ours: all namespaces, another
user, no capabilities, the same read-only folders, scratch in memory, dying with its parent. Each
sandbox then runs one program that tries what a candidate should not be able to do, and says how
long it took until torch was there. ``no`` is the better answer everywhere.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.judge.sandbox.child import CallOptions
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import SYSTEM, visible_folders
from kernelwright.judge.sandbox.program import Program

PROBE = """
import ctypes, json, os, resource, socket

libc = ctypes.CDLL(None, use_errno=True)
NEW_USER_SPACE = 0x10000000  # CLONE_NEWUSER, sched.h


def can(action):
    try:
        return bool(action())
    except Exception:
        return False


def status(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(line.split()[1] for line in lines if line.startswith(name))


def limit(name):
    return resource.getrlimit(getattr(resource, "RLIMIT_" + name))[0]


def tried():
    return {
        "sees a process of the host": can(lambda: os.path.exists("/proc/PARENT/stat")),
        "reaches the network": can(lambda: socket.create_connection(("127.0.0.1", PORT), 1)),
        "reads a file of the user's": can(lambda: open("SECRET").read()),
        "writes outside its scratch": can(lambda: open("/usr/lib/kernelwright", "w")),
        "is the user who judges": os.getuid() == USER,
        "has capabilities": int(status("CapEff"), 16) != 0,
        "can have capabilities back": int(status("CapBnd"), 16) != 0,
        "makes a namespace in which it is root": can(lambda: libc.unshare(NEW_USER_SPACE) == 0),
        "traces its own processes": can(lambda: libc.ptrace(0, 0, 0, 0) == 0),
        "has all system calls": status("Seccomp:") == "0",
        "may take all memory": limit("DATA") == resource.RLIM_INFINITY,
        "may start any number of processes": limit("NPROC") == resource.RLIM_INFINITY,
        "may write files of any size": limit("FSIZE") == resource.RLIM_INFINITY,
        "sees the user's environment": "KERNELWRIGHT_CANARY" in os.environ,
    }
"""
AS_CANDIDATE = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self):
        raise ValueError(json.dumps(tried()))
"""
SECRET = "/var/tmp/kernelwright-canary"


def ours(probe: str) -> tuple[dict[str, Any], float]:
    """The judge's child, forked from a warm process; the seconds are those of a fork."""
    server = ForkServer({}, threads=1)
    try:
        server.wait_ready()
        start_s = time.monotonic()
        child = server.fork()
        spent_s = time.monotonic() - start_s
        program = Program(probe + AS_CANDIDATE, "ModelNew", pickle.dumps([]), seed=0)
        child.request("build", weights={}, program=program)
        child.request("prepare", arguments=[])
        child.stop()
        reply = child.call(CallOptions(20)).reply
        child.close()
        return json.loads(reply["error"]["message"]), spent_s
    finally:
        server.close()


def bubblewrap(probe: str) -> tuple[dict[str, Any], float]:
    """bwrap, which starts a program: torch is imported inside."""
    command = ["bwrap", "--unshare-all", "--uid", "1200000001", "--gid", "1200000001"]
    command += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"]
    for folder in (*SYSTEM, *visible_folders()):
        if os.path.islink(folder):
            command += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            command += ["--ro-bind", folder, folder]
    command += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    code = (
        f"import sys; sys.path[:] = {sys.path!r}\nimport torch\n{probe}\nprint(json.dumps(tried()))"
    )
    start_s = time.monotonic()
    done = subprocess.run([*command, sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bubblewrap does not work here: {done.stderr[-500:]}")
    return json.loads(done.stdout), time.monotonic() - start_s


def main() -> None:
    import socket

    if shutil.which("bwrap") is None:
        raise SystemExit("install bubblewrap first")
    os.environ["KERNELWRIGHT_CANARY"] = "1"
    Path(SECRET).write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        probe = PROBE.replace("PARENT", str(os.getpid())).replace("SECRET", SECRET)
        probe = probe.replace("PORT", str(server.getsockname()[1]))
        probe = probe.replace("USER", str(os.getuid()))
        found = {"ours": ours(probe), "bubblewrap": bubblewrap(probe)}
    Path(SECRET).unlink()
    table = Table("a candidate ...", *found)
    for what in found["ours"][0]:
        table.add_row(what, *("yes" if one[what] else "no" for one, _ in found.values()))
    table.add_row("s until torch is there", *(f"{spent_s:.2f}" for _, spent_s in found.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
