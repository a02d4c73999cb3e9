"""Ctrl-C ends a search soon."""

from tests.host.relu_task import TASK

from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.search import loop


def test_after_ctrl_c_no_library_setting_is_compiled_or_timed(tmp_path, fork_server):
    """It would take seconds, and a minute for a network."""
    told = []

    def interrupt_once(progress):
        told.append(progress)
        if len(told) == 1:
            raise KeyboardInterrupt

    settings = Settings(
        archive=str(tmp_path / "a.sqlite"), out=str(tmp_path), dialects=("cpp",), threads=1
    )
    result = loop.optimize(
        Task("relu", "folder", TASK),
        settings=settings,
        on_progress=interrupt_once,
        fork_server=fork_server,
    )
    assert told and result.interrupted
    assert not result.strongest and not result.evaluated
