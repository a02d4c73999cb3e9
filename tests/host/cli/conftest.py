import subprocess
import sys

import pytest
from tests.host.relu_task import RIGHT, TASK, WRONG


@pytest.fixture
def files():
    """The texts in ``folder``, by name; a module may have its own."""
    return {"task.py": TASK, "right.py": RIGHT, "wrong.py": WRONG}


@pytest.fixture
def folder(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def kernelwright(folder):
    """Run a command line in ``folder``, in a process of its own."""

    def run(*words):
        command = [sys.executable, "-m", "kernelwright", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    return run
