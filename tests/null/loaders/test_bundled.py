"""A task contains its author's own modules, whose files the judge's processes do not see."""

from __future__ import annotations

import dataclasses
import importlib
import pickle
import subprocess
import sys

import pytest
import torch

from kernelwright.core.errors import TaskError
from kernelwright.loaders import load, open_reference
from kernelwright.runtime.build import build

HELPER = """# -*- coding: latin-1 -*-
from .scales import by_two

try:
    from ....beyond import fast
except ImportError:
    fast = "für später"


def twice(x):
    return by_two(x)
"""
SCALES = "import torch\n\n\ndef by_two(x):\n    return torch.mul(x, 2)\n"
MODEL = '''"""A task."""

from __future__ import annotations

import torch
from own_helpers.deep.helper import twice


class Model(torch.nn.Module):
    def forward(self, x):
        return twice(torch.relu(x))
'''
INPUTS = """

def get_inputs():
    return [torch.ones(3, 8)]


def get_init_inputs():
    return []
"""
ELSEWHERE = """
import pickle, sys
from kernelwright.loaders import open_reference
reference = open_reference(pickle.load(open(sys.argv[1], "rb")))
print(float(reference.build(0)(*reference.inputs(0)).sum()))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    deep = tmp_path / "own_helpers" / "deep"  # without __init__.py
    deep.mkdir(parents=True)
    (deep / "helper.py").write_text(HELPER, encoding="latin-1")
    (deep / "scales.py").write_text(SCALES)
    (tmp_path / "own_task.py").write_text(MODEL + INPUTS)
    yield tmp_path
    for name in [n for n in sys.modules if n.startswith("own_")]:
        del sys.modules[name]


def elsewhere(task, folder):
    """Run the task in a process that cannot see the folder, and return its result."""
    path = folder / "task.pickle"
    path.write_bytes(pickle.dumps(task))
    for file in folder.rglob("*.py"):
        file.unlink()
    command = [sys.executable, "-c", ELSEWHERE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=True)
    return float(done.stdout)


@pytest.mark.parametrize("target", ["own_task.py", "own_task.py:Model", "own_task:Model"])
def test_a_bundled_task_runs_without_the_files(folder, target):
    assert elsewhere(load(target), folder) == 48.0


def test_the_modules_are_part_of_the_identity(folder):
    before = load("own_task.py").digest
    (folder / "own_helpers" / "deep" / "scales.py").write_text(SCALES.replace("2)", "3)"))
    assert load("own_task.py").digest != before


def test_a_file_that_imports_none_stays_as_it_is(folder):
    text = MODEL.replace("from own_helpers.deep.helper import twice\n", "twice = torch.neg\n")
    (folder / "alone.py").write_text(text + INPUTS)
    assert load("alone.py").source == text + INPUTS


def two_folders(tmp_path):
    """Tasks in two folders that each have a module of the same name."""
    paths = []
    for factor in (2, 3):
        folder = tmp_path / f"times_{factor}"
        folder.mkdir()
        (folder / "own_scales.py").write_text(SCALES.replace("2)", f"{factor})"))
        text = MODEL.replace("own_helpers.deep.helper import twice", "own_scales import by_two")
        (folder / "task.py").write_text(text.replace("twice(", "by_two(") + INPUTS)
        paths.append(folder / "task.py")
    return paths


def total(task):
    reference = open_reference(task)
    return float(reference.build(0)(*reference.inputs(0)).sum())


def test_modules_of_the_same_name_in_two_folders_are_kept_apart(folder):
    tasks = [load(path) for path in two_folders(folder)]
    assert [total(task) for task in (*tasks, *tasks)] == [48.0, 72.0, 48.0, 72.0]
    for file in folder.rglob("*.py"):
        file.unlink()  # as where they come from an archive
    gone = [dataclasses.replace(task, import_roots=()) for task in tasks]
    assert [total(task) for task in (*gone, *gone)] == [48.0, 72.0, 48.0, 72.0]


def test_modules_of_two_candidates_are_kept_apart(folder):
    tasks = [load(path) for path in two_folders(folder)]
    built = []
    for n, task in enumerate(tasks):
        file = folder / f"kernel_{n}.py"
        file.write_text(f"{task.source}\n\nclass ModelNew(Model):\n    pass\n")
        built.append(build(file))
    assert [float(each(torch.ones(3, 8)).sum()) for each in built] == [48.0, 72.0]


def test_an_own_module_hidden_by_another_file_is_an_error(folder, monkeypatch):
    one, other = two_folders(folder)
    monkeypatch.syspath_prepend(one.parent)
    importlib.import_module("own_scales")  # as the user's own script does
    assert total(load(one)) == 48.0
    with pytest.raises(TaskError, match="another module own_scales is already imported") as refused:
        load(other)
    assert str(one.parent) in refused.value.seen
