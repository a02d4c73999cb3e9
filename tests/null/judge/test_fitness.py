"""What a task must be like, and what makes a win on it worth nothing."""

import pytest
import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import WarningCode
from kernelwright.core.task import Task
from kernelwright.judge.reference.fitness import (
    degenerate,
    require_numbers,
    without_noise,
)
from kernelwright.judge.reference.oracle import Oracle


def told(outputs, other):
    return [warned.detail for warned in degenerate(outputs, other)]


def test_shapes_that_depend_on_values_are_told_of_the_task():
    with pytest.raises(TaskError, match="shape depends on the inputs' values") as told:
        degenerate([torch.rand(3, 2)], [torch.rand(4, 2)])
    assert "[[3, 2]], then [[4, 2]]" in str(told.value)


def test_an_output_that_says_nothing_is_a_warning():
    x = torch.rand(3)
    assert degenerate([x], [x + 1]) == []
    assert told([x], [x.clone()]) == ["degenerate task: the output does not depend on the inputs"]
    assert told([x, torch.ones(4)], [x + 1, torch.ones(4)]) == [
        "degenerate task: output 1 is constant"
    ]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_constant_may_be_rounded_and_a_number_that_follows_the_inputs_is_none(dtype):
    one, two = (torch.randn(16, 1000).softmax(-1).sum(-1).to(dtype) for _ in range(2))
    says = ["degenerate task: output 0 is constant"]
    assert told([one, torch.rand(2)], [two, torch.rand(2)]) == says
    assert degenerate([torch.full((8,), 3.0, dtype=dtype)], [torch.full((8,), 4.0)]) == []
    assert degenerate([torch.ones(8).bool()], [torch.zeros(8).bool()]) == []


def test_an_output_that_mostly_overflows_is_a_warning_and_a_mask_is_none():
    x = torch.rand(4, 8)
    grown, masked = x.clone(), x.clone()
    grown[:, 3:], masked[:, 3:] = torch.inf, -torch.inf
    assert degenerate([masked], [masked + 1]) == []
    assert told([grown], [grown + 1]) == [
        "degenerate task: most of output 0 is NaN or beyond its type"
    ]


def test_what_has_no_numbers_is_told_of_the_task():
    with pytest.raises(TaskError, match="meta device"):
        require_numbers([torch.rand(3), torch.rand(3, device="meta")])


def test_zeros_that_are_rounded_say_nothing():
    own, exact = torch.randn(8) * 1e-7, torch.randn(8).double() * 1e-16
    found, warnings = without_noise([own, own], [exact, own.double()])
    assert not found[0].any() and torch.equal(found[1], own.double())
    (warned,) = warnings
    assert warned.detail == "degenerate task: output 0 is zero but for rounding"


KEEPS = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4))
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        {}

def get_inputs():
    return [torch.rand(3, 4)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    "forward",
    [
        "self.kept[:] = x.sum(0); return x, self.kept",
        "return self.norm.train()(x), self.norm.running_mean",
    ],
)
def test_a_reference_that_overwrites_what_it_returned_is_told(forward):
    # Otherwise the reference itself was refused, as a candidate that overwrites its outputs.
    with pytest.raises(TaskError, match="returns memory of its own") as told:
        Oracle(Task("keeps", "test", KEEPS.format(forward)), "cpu", 1)
    assert "output 1" in str(told.value) and "clone" in str(told.value)


def test_a_reference_that_returns_a_copy_of_what_it_keeps_or_a_table_is_fit():
    for forward in ("self.kept[:] = x.sum(0); return self.kept.clone()", "return x, self.kept"):
        Oracle(Task("keeps", "test", KEEPS.format(forward)), "cpu", 1)


RAISES = """
import torch

class Silent(Exception):
    def __str__(self):
        raise ValueError("no")

class Model(torch.nn.Module):
    def forward(self, x):
        {}

def get_inputs():
    return [torch.rand(4)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("line", ["raise Silent", "found = []; found.append(found); return found"])
def test_whatever_the_reference_does_is_told_of_the_task(line):
    with pytest.raises(TaskError, match="do not fit the forward"):
        Oracle(Task("odd", "test", RAISES.format(line)), "cpu", 1)


SIGN = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum() > 0


def get_inputs():
    return [torch.randn(8)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("secret", range(4))
def test_an_answer_of_yes_or_no_is_not_taken_for_always_the_same(secret):
    assert not Oracle(Task("sign", "test", SIGN), "cpu", secret).profile.warnings


STATEFUL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return self.layer(x)

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return []
"""
SPECTRAL = "nn.utils.parametrizations.spectral_norm(nn.Linear(64, 16))"


def test_results_that_hang_on_how_often_a_module_was_called_are_told_of_the_task():
    # The second moves on from noise, so that already the second call gives other results.
    for layer in (SPECTRAL, "nn.utils.spectral_norm(nn.Linear(64, 16))"):
        with pytest.raises(TaskError, match="how often it has been called"):
            Oracle(Task("drifts", "test", STATEFUL.format(layer=layer)), "cpu", 3)
    for layer in (f"{SPECTRAL}.eval()", "nn.BatchNorm1d(64)"):  # statistics that nothing reads
        Oracle(Task("rests", "test", STATEFUL.format(layer=layer)), "cpu", 3)


def test_a_reference_that_is_random_in_training_mode_only_is_judged_in_eval_mode():
    layer = "nn.Sequential(nn.BatchNorm1d(64), nn.Dropout())"
    task = Task("noisy", "test", STATEFUL.format(layer=layer))
    oracle = Oracle(task, "cpu", 3)
    (warned,) = oracle.profile.warnings
    assert warned.code is WarningCode.EVAL_MODE and not oracle.profile.is_doubtful
    assert not any(module.training for module in oracle.forward.modules.values())
    assert oracle.forward.task.mode == "eval" and oracle.workload().task == task.digest


def test_a_reference_that_is_random_in_every_mode_or_asked_to_train_is_refused():
    always = "nn.Identity()\n        self.forward = lambda x: nn.functional.dropout(x)"
    noisy = Task("noisy", "test", STATEFUL.format(layer="nn.Dropout()"))
    for task in (Task("noisy", "test", STATEFUL.format(layer=always)), noisy.in_mode("train")):
        with pytest.raises(TaskError, match="not deterministic"):
            Oracle(task, "cpu", 3)


def test_a_reference_that_looks_at_bits_has_its_own_float32_in_float64():
    body = "nn.Identity()\n        self.forward = lambda x: x.float().view(torch.int32) ^ 1"
    oracle = Oracle(Task("bits", "test", STATEFUL.format(layer=body)), "cpu", 3)
    expected = oracle.expectations.of(oracle.first, oracle.first_arguments)
    (output,) = expected.outputs
    assert expected.warnings == () and torch.equal(output.exact, output.own)


WRITES = """
import torch

class Model(torch.nn.Module):
    def forward(self, state, x):
        {}

def get_inputs():
    return [torch.randn(64), torch.randn(64)]

def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    "line", ["state.clamp_(-8, 8)", "torch.nan_to_num_(state)", "state[x > 100] = 0"]
)
def test_an_argument_that_is_written_to_is_a_result_where_no_number_changed_too(line):
    task = Task("writes", "test", WRITES.format(f"{line}; return state + x"))
    oracle = Oracle(task, "cpu", 1)
    assert oracle.profile.results.changed == [True, False]
    state, x = torch.full((64,), 300.0), torch.zeros(64)
    assert len(oracle.forward.run([state, x])) == 2 and bool((state == 300).all())


def test_a_reference_that_only_writes_hangs_on_its_inputs_all_the_same():
    task = Task("writes", "test", WRITES.format("state.sub_(x, alpha=0.1)"))
    assert Oracle(task, "cpu", 1).profile.warnings == ()


def test_results_in_weights_and_arguments_are_overwritten_by_the_judge_itself():
    forward = "return x[:2], self.kept, x + self.kept, self.norm.weight[1:]"
    oracle = Oracle(Task("lends", "test", KEEPS.format(forward)), "cpu", 1)
    assert oracle.profile.results.ours == [True, True, False, True]


def test_a_sparse_buffer_is_told_of_and_not_the_inputs():
    text = KEEPS.replace("torch.zeros(4))", "torch.eye(4).to_sparse())")
    with pytest.raises(TaskError, match="weight that cannot be passed") as told:
        Oracle(Task("keeps", "test", text.format("return x @ self.kept")), "cpu", 1)
    assert "kept is a tensor in the layout sparse_coo" in told.value.seen
