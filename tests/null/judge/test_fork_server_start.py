"""A fork server that cannot start ends by itself: its judge waits for an answer, or for its end."""

from __future__ import annotations

import socket
import subprocess
import sys

from kernelwright.judge.sandbox import fork_server_main


def test_a_fork_server_whose_imports_fail_ends() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs:
        command = [sys.executable, "-I", fork_server_main.__file__, str(theirs.fileno())]
        ended = subprocess.run(
            [*command, "/no/such/folder"],
            pass_fds=[theirs.fileno()],
            timeout=60,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 1 and "ModuleNotFoundError" in ended.stderr
