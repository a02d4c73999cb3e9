"""The source file that a search writes."""

import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.null.archive.nouns import TASK

from kernelwright import api
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.search.result import write_source


def test_a_full_disk_does_not_destroy_an_existing_source(tmp_path):
    candidate = Candidate("# long\n" * 1000, "cpp")
    path = write_source(candidate, tmp_path, "task")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, old[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            write_source(candidate, tmp_path, "task")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert path.read_text() == candidate.source
    assert list(tmp_path.iterdir()) == [path]


def test_a_source_is_utf_8_whatever_the_locale(tmp_path):
    code = (
        "from pathlib import Path\nfrom kernelwright.core.candidate import Candidate\n"
        "from kernelwright.search.result import write_source\n"
        f"write_source(Candidate('# \\N{{SNOWMAN}}', 'cpp'), Path({str(tmp_path)!r}), 'task')\n"
    )
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code], env=os.environ | ascii_only, check=True)
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == "# \N{SNOWMAN}".encode()


def test_a_name_that_is_too_long_for_the_source_is_refused_before_anything_is_judged(
    tmp_path, monkeypatch
):
    """A source's name is longer than a report's, so such a search would fail at its end."""
    monkeypatch.chdir(tmp_path)
    task = replace(TASK, name="n" * 240)
    with pytest.raises(TaskError, match="name is too long"):
        api.optimize(task, budget_s=1, dialects=("torch",))
    assert not any(Path("kernelwright-out").iterdir())
