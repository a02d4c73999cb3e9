"""A judge in a program changes nothing of torch's for the program's other threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x):
        return torch.relu(self.linear(x)) * torch.full((64,), 0.1)


def get_inputs():
    torch.manual_seed(3)
    return [torch.randn(32, 64)]


def get_init_inputs():
    return []
"""


def test_default_type_random_state_and_threads_stay(fork_server):
    seen, n_seen, is_over = set(), set(), threading.Event()
    torch.manual_seed(11)
    before = torch.get_rng_state()
    n_threads = torch.get_num_threads()

    def look():
        while not is_over.is_set():
            same = torch.equal(torch.get_rng_state(), before)
            seen.add((torch.get_default_dtype(), torch.ones(1).dtype, same))
            time.sleep(0.001)  # as often as the judge changes threads
            with ThreadPoolExecutor(1) as new_thread:
                n_seen.add(new_thread.submit(torch.get_num_threads).result())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        settings = Settings(threads=1)
        with Judge(Task("beside", "x", REFERENCE), settings=settings, fork_server=fork_server) as j:
            source = REFERENCE.replace("class Model(", "class ModelNew(")
            found = j.evaluate(Candidate(source, "torch"))
    finally:
        is_over.set()
        thread.join()
    assert found.passed, found.why
    assert seen == {(torch.float32, torch.float32, True)}
    assert torch.equal(torch.get_rng_state(), before)
    assert n_seen == {n_threads, torch.get_num_threads()}
