"""A reference gets its own random numbers and its own default type; the process keeps its own."""

import copy
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_iter

from kernelwright.loaders import thread_state
from kernelwright.loaders.thread_state import (
    SeededWhileItDraws,
    default_type,
    heed_manual_seed,
    made_in_float64,
    seeded,
)

DRAWS = (
    lambda: torch.rand(5),
    lambda: torch.randn(3, 4, dtype=torch.float64),
    lambda: torch.randint(0, 9, (7,)),
    lambda: torch.randint(9, (7,)),
    lambda: torch.randperm(16),
    lambda: torch.rand_like(torch.empty(4)),
    lambda: torch.randn_like(torch.empty(4)),
    lambda: torch.randint_like(torch.empty(4), 5),
    lambda: torch.normal(0.0, 1.0, (3,)),
    lambda: torch.normal(torch.zeros(3), 2.0),
    lambda: torch.bernoulli(torch.full((8,), 0.5)),
    lambda: torch.multinomial(torch.ones(6), 4),
    lambda: torch.poisson(torch.full((8,), 3.0)),
    lambda: torch.empty(5).exponential_(),
    lambda: nn.functional.dropout(torch.ones(32), 0.5),
    lambda: nn.Linear(4, 4).weight.detach(),
    lambda: nn.init.trunc_normal_(torch.empty(4, 4)),
)


@pytest.mark.parametrize("draw", DRAWS)
def test_the_numbers_are_those_of_torch_and_torch_keeps_its_own(draw):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        expected = draw(), draw()
        before = torch.get_rng_state()
        with seeded(7):
            found = draw(), draw()
        assert torch.equal(torch.get_rng_state(), before)
    assert all(map(torch.equal, found, expected))


def test_attention_without_dropout_draws_nothing(monkeypatch):
    def lend(generator):
        raise AssertionError("torch's own generator is not needed")

    monkeypatch.setattr(thread_state, "_lent", lend)
    x = torch.ones(1, 2, 4, 8)
    with seeded(3):
        nn.functional.scaled_dot_product_attention(x, x, x)
        nn.LSTM(8, 4)(x[0])


def test_a_seed_that_the_task_sets_is_heeded_and_stays_inside():
    heed_manual_seed()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        before = torch.get_rng_state()
        expected = torch.rand(3)
        torch.set_rng_state(before)
        with seeded(5):
            torch.rand(9)
            torch.manual_seed(0)
            assert torch.equal(torch.rand(3), expected)
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(1)
        assert not torch.equal(torch.get_rng_state(), before)


MADE = {
    "zeros": (lambda: torch.zeros(3), torch.float64),
    "a list": (lambda: torch.tensor([0.1, 0.2]), torch.float64),
    "an integer": (lambda: torch.tensor([1, 2]), torch.int64),
    "full": (lambda: torch.full((2,), 0.1), torch.float64),
    "a range": (lambda: torch.arange(0, 1, 0.1), torch.float64),
    "a whole range": (lambda: torch.arange(4), torch.int64),
    "linspace": (lambda: torch.linspace(0, 1, 7), torch.float64),
    "a window": (lambda: torch.hann_window(8), torch.float64),
    "random": (lambda: torch.rand(3), torch.float64),
    "a quotient": (lambda: torch.arange(1, 4) / 3, torch.float64),
    "a product": (lambda: torch.arange(4) * 0.1, torch.float64),
    "a mask": (lambda: (torch.arange(4) > 2) * 0.1, torch.float64),
    "a root": (lambda: torch.arange(4).sqrt(), torch.float64),
    "a choice": (lambda: torch.where(torch.arange(4) > 2, 0.1, 0.3), torch.float64),
    "complex": (lambda: torch.tensor([0.1j]), torch.complex128),
    "named": (lambda: torch.ones(3, dtype=torch.float32), torch.float32),
    "cast": (lambda: torch.arange(4).float(), torch.float32),
    "to": (lambda: torch.arange(4).to(torch.float32), torch.float32),
    "of float32": (lambda: torch.ones(2, dtype=torch.float32).exp(), torch.float32),
}


@pytest.mark.parametrize("name", MADE)
def test_float64_by_default_is_what_torch_makes_of_it(name):
    make, dtype = MADE[name]
    with torch.random.fork_rng(devices=[]):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            torch.manual_seed(3)
            expected = make()
        finally:
            torch.set_default_dtype(before)
        torch.manual_seed(3)
        with made_in_float64():
            found = make()
            assert default_type() is torch.float64 and torch.get_default_dtype() is before
    assert found.dtype is dtype and torch.equal(found, expected)


def test_other_threads_see_nothing_of_it():
    seen = []

    def look():
        seen.append((default_type(), torch.ones(1).dtype, torch.get_default_dtype()))

    with made_in_float64(), seeded(3):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(torch.float32, torch.float32, torch.float32)]


@pytest.mark.parametrize("draw", [torch.rand, torch.ones], ids=["draws", "draws nothing"])
def test_a_module_that_draws_goes_on_to_be_seeded(draw):
    contexts = SeededWhileItDraws()
    with contexts(3):
        expected = draw(4)
    contexts.settle()
    with contexts(3):
        assert torch.equal(draw(4), expected)
    assert isinstance(contexts(3), seeded) == (draw is torch.rand)


def test_a_mode_does_not_import_torchs_compiler():
    code = (
        "import sys, torch\n"
        "from kernelwright.loaders.thread_state import made_in_float64, seeded\n"
        "with seeded(3), made_in_float64():\n"
        "    torch.rand(3) + 1\n"
        "sys.exit('torch._dynamo' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_copying_a_network_looks_at_each_of_its_tensors_once(monkeypatch):
    """``copy.deepcopy`` gives every tensor a dictionary of all that was copied before. Looking
    through it took a DenseNet of 121 layers more than a minute for every copy in float64."""
    seen = []

    def noting(tree):
        for leaf in tree_iter(tree):
            seen.append(leaf)
            yield leaf

    monkeypatch.setattr(thread_state, "tree_iter", noting)
    network = nn.Sequential(*(nn.BatchNorm1d(2) for _ in range(40)))
    with made_in_float64():
        twin = copy.deepcopy(network)
    assert len(twin.state_dict()) == 5 * 40
    assert len(seen) <= 2 * len(network.state_dict())
