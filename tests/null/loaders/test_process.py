"""The folders from which the user's process imports stay as they were."""

import sys

import pytest

from kernelwright.core.errors import TaskError
from kernelwright.loaders import load, open_reference

TASK = """
import sys

import torch
from torch import nn

import {neighbour}

sys.path.append("/appended/meanwhile")


class Model(nn.Module):
    def forward(self, x):
        return x + {neighbour}.ONE


def get_inputs():
    return [torch.ones(3)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def task(tmp_path):
    (tmp_path / "neighbour_of_a_task.py").write_text("ONE = 1\n")
    file = tmp_path / "task.py"
    file.write_text(TASK.format(neighbour="neighbour_of_a_task"))
    return load(file)


def test_a_folder_that_others_add_meanwhile_stays_importable(task, monkeypatch):
    before = list(sys.path)
    monkeypatch.setattr(sys, "path", list(before))
    open_reference(task)
    assert sys.path == [*before, "/appended/meanwhile"]


def test_a_task_that_fails_leaves_no_folder_behind(tmp_path):
    file = tmp_path / "task.py"
    file.write_text("raise RuntimeError\n" + TASK.format(neighbour="math"))
    before = list(sys.path)
    with pytest.raises(TaskError):
        open_reference(load(file))
    assert sys.path == before
