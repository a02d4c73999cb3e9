"""The gates of a search's winner: it is used as programs use modules, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import IO, Any

from kernelwright.core import plugins
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.use import RAISED, UNTRIED, Use
from kernelwright.judge.machine import Machine
from kernelwright.judge.sandbox import isolation
from kernelwright.judge.scheduling.device_lock import SharedHold
from kernelwright.search.result import Result

SHARE, LEAST_S = 0.1, 4.0
"""The time that the gates may take, as a share of what the search took, and in seconds at least:
importing torch takes two of them."""
POLL_S = 0.02
FIRST = "a call"


def through_gates(result: Result, settings: Settings, *, search_s: float) -> tuple[Use, ...]:
    """Use the kernel of a result in one way after the other, in a process of its own.

    ``search_s`` is how long the search took. A use that has not ended in time is 'untried', and one
    at which the process ends has 'raised'. The process has the judge's environment but not its
    confinement, and it stands still whenever somebody measures on the device. Kernels for training
    steps are not tried.
    """
    if result.best is None or result.evaluation is None or result.task.step_of:
        return ()
    device = Device.parse(result.evaluation.environment.device)
    machine = Machine.of(Device.parse(settings.device), threads=settings.threads)
    dialect = plugins.find("kernelwright.dialects", result.best.candidate.dialect)
    variables = {**machine.backend.visibility, **dialect.environment(device)}
    limit_s = max(LEAST_S, SHARE * search_s)
    with tempfile.TemporaryFile() as said, tempfile.TemporaryDirectory() as scratch:
        environment = isolation.child_environment(
            {**variables, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))},
            scratch=scratch,
            threads=machine.threads,
        )
        with machine.device_lock.shared() as hold:
            process = _started(result, environment, said)
            code = _ended(process, limit_s, hold)
        said.seek(0)
        return tuple(_read(said, code))


def _started(
    result: Result, environment: dict[str, str], said: IO[bytes]
) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as given:
        pickle.dump(replace(result, evaluated=[], by_shape=()), given)
        given.seek(0)
        return subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", __name__, str(said.fileno())],
            env=environment,
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(said.fileno(),),
            start_new_session=True,
        )


def _ended(process: subprocess.Popen[bytes], limit_s: float, hold: SharedHold | None) -> int | None:
    """Wait for the end of the process, as long as it may take. Returns its exit code, or None if it
    was ended here."""
    until_s = time.monotonic() + limit_s
    try:
        while process.poll() is None and time.monotonic() < until_s:
            if hold is not None and hold.is_wanted():
                os.killpg(process.pid, signal.SIGSTOP)
                until_s += hold.step_aside(process.pid)
                os.killpg(process.pid, signal.SIGCONT)
            time.sleep(POLL_S)
        return process.returncode
    finally:
        with contextlib.suppress(ProcessLookupError):  # its compilers as well
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _read(said: IO[bytes], code: int | None) -> Iterator[Use]:
    """The uses that the process named, with what came of each that it had time for."""
    lines = [json.loads(line) for line in said.read().splitlines() if line.endswith(b"}")]
    found = {line["name"]: Use(**line) for line in lines if "outcome" in line}
    began = {line["begins"] for line in lines if "begins" in line} or {FIRST}
    named = next((line["names"] for line in lines if "names" in line), [FIRST])
    for name in named:
        if name in found:
            yield found[name]
        elif code is not None and name in began:
            yield Use(name, RAISED, f"the process ended with exit code {code}")
        else:
            yield Use(name, UNTRIED)


def main() -> None:
    """Try the uses of the result on standard input, and write about each to the file whose number
    is the argument."""
    from kernelwright.runtime.uses import ways

    with os.fdopen(int(sys.argv[1]), "w", buffering=1) as to:

        def say(**facts: Any) -> None:
            to.write(json.dumps(facts) + "\n")

        found = ways(pickle.load(sys.stdin.buffer))
        say(names=[*found])
        for name, try_it in found.items():
            say(begins=name)
            say(**asdict(try_it()))


if __name__ == "__main__":
    main()
