"""A task's assertions run even under python -O or PYTHONOPTIMIZE."""

import subprocess
import sys

PROGRAM = """
import torch
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference

SOURCE = '''
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        assert x.min() >= 0, "no negative numbers"
        return x

def get_inputs():
    return [torch.zeros(2)]

def get_init_inputs():
    return []
'''
module = open_reference(Task("t", "builtin", SOURCE)).build(0)
try:
    module(-torch.ones(2))
except AssertionError as error:
    print(error)
"""


def test_a_tasks_own_assertions_hold_in_every_python():
    command = [sys.executable, "-O", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == "no negative numbers", done.stderr
