"""Verdicts on a folder of candidates, by ``kernelwright judge --suite`` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any


def suite_verdicts(
    options: Sequence[str], *, most_s: float, environment: Mapping[str, str] | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Each verdict with its task's name; those reached when it is interrupted after ``most_s``.

    ``environment`` is added to this process's.
    """
    run = subprocess.Popen(
        [sys.executable, "-m", "kernelwright", "judge", *options, "--json"],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    timer = threading.Timer(most_s, lambda: os.killpg(run.pid, signal.SIGINT))
    timer.start()
    said, _ = run.communicate()
    timer.cancel()
    tasks = json.loads(said)["tasks"]
    return [(task["task"]["name"], verdict) for task in tasks for verdict in task["verdicts"]]
