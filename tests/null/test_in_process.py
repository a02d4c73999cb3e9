"""The endings of work in a separate process, also after its parent has gone."""

import contextlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
import pytest

from kernelwright.core.errors import TaskError
from kernelwright.workers.in_process import Ending, in_process

LONG_S = 60.0


class NoForkServer:
    """A stand-in for the judge's fork server, which is not needed here."""

    def branch(self):
        return self

    def close(self):
        pass


def give(value, *, fork_server):
    return value


def refuse(*, fork_server):
    raise TaskError("no such task", seen="nothing", do="name one")


def fail(*, fork_server):
    raise RuntimeError("the driver is gone")


def die(*, fork_server):
    os._exit(3)


def be_interrupted(*, fork_server):
    raise KeyboardInterrupt


def count(n, *, fork_server, on_step):
    for number in range(n):
        on_step(number)
    return "done"


def wait(note, *, fork_server, on_step):
    """Report the start of the work, and record how it ends."""
    try:
        on_step("begun")
        time.sleep(LONG_S)
    except KeyboardInterrupt:
        Path(note).write_text("interrupted")
        raise


@pytest.mark.parametrize(
    ("work", "ending"),
    [
        (partial(give, 7), Ending(7)),
        (fail, Ending(died="RuntimeError: the driver is gone")),
        (die, Ending(died="exit code 3")),
        (be_interrupted, Ending(is_interrupted=True)),
    ],
)
def test_every_end_is_a_value(work, ending):
    assert in_process(work, fork_server=NoForkServer()) == ending


def test_the_exit_code_is_right_while_other_processes_start():
    with ThreadPoolExecutor(8) as pool:
        work = [die if number % 2 else partial(give, number) for number in range(24)]
        found = list(pool.map(partial(in_process, fork_server=NoForkServer()), work))
    assert {ending.died for ending in found} == {"", "exit code 3"}


def test_an_error_by_contract_comes_back_whole():
    error = in_process(refuse, fork_server=NoForkServer()).error
    assert (type(error), error.what, error.seen, error.do) == (
        TaskError, "no such task", "nothing", "name one",
    )  # fmt: skip


def test_steps_are_forwarded_as_they_happen():
    steps = []
    found = in_process(partial(count, 3), fork_server=NoForkServer(), on_step=steps.append)
    assert steps == [0, 1, 2] and found.value == "done"


def test_the_time_limit_holds_for_work_that_reports_steps(tmp_path):
    steps, note = [], tmp_path / "note"
    work = partial(wait, note)
    in_process(partial(give, 7), fork_server=NoForkServer())  # the first waits for imports as well
    begun_s = time.monotonic()
    found = in_process(work, fork_server=NoForkServer(), on_step=steps.append, limit_s=10)
    assert found.is_late and steps == ["begun"] and note.read_text() == "interrupted"
    assert time.monotonic() - begun_s < LONG_S / 2


IN_PROCESS = """
import sys
from kernelwright.workers.in_process import in_process
from tests.null.test_in_process import NoForkServer, wait_in_vain
tell = lambda step: print(step, flush=True)
in_process(wait_in_vain, fork_server=NoForkServer(), on_step=tell, preload=sys.argv[1:])
"""


def wait_in_vain(*, fork_server, on_step):
    """Report the start of the work, and go on whatever interrupts it."""
    on_step("begun")
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(LONG_S)


@pytest.mark.parametrize("preload", [(), ("long_import",)])
def test_all_processes_end_soon_when_their_parent_is_killed(tmp_path, preload):
    """Also while they import, which takes seconds, and many on a loaded machine."""
    importing = f"import time; print('begun', flush=True); time.sleep({LONG_S})"
    (tmp_path / "long_import.py").write_text(importing)
    home = Path(__file__).parents[2]
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    parent = subprocess.Popen(
        [sys.executable, "-c", IN_PROCESS, *preload],
        stdout=subprocess.PIPE,
        cwd=home,
        env=os.environ | {"PYTHONPATH": path},
    )
    assert parent.stdout.readline() == b"begun\n"
    started = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs(started, timeout=LONG_S / 3)
    assert started and not alive
