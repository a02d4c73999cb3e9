"""Several results of one module make one that picks its kernel by shape."""

import copy
import inspect
import io
import pickle
import sys

import pytest
import torch
from tests.null.swarm.briefs import verdict

import kernelwright as kw
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.result import Result
from kernelwright.search import write_source

SOURCE = """
import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        return x * self.scale


def get_inputs():
    return [torch.randn({rows}, 8)]


def get_init_inputs():
    return [8]
"""
# Kernels of a test may be wrong: what they return tells which one was called.
CODE = SOURCE.partition("def get_inputs")[0].replace("Model", "ModelNew")


def result(tmp_path, rows, speed, source=SOURCE, gain=0.0):
    """What a search found for inputs of so many rows; its kernel adds ``gain``."""
    task = Task(f"scale {rows}", "kernelbench", source.replace("{rows}", str(rows)))
    candidate = Candidate(CODE.replace("self.scale\n", f"self.scale + {gain}\n"), "torch")
    path = write_source(candidate, tmp_path, "scale")
    found = verdict(candidate, speed) if speed else None
    best = Proposal(candidate, "rules") if speed else None
    return Result(task, best, found, [], "eager", path, "")


@torch.no_grad()
def test_each_shape_has_its_kernel_and_others_the_reference(tmp_path):
    small, large = result(tmp_path, 4, 2.0, gain=10), result(tmp_path, 64, 2.0, gain=20)
    nothing = result(tmp_path, 16, None)
    module = kw.build([small, large, nothing])
    for rows, gain in ((4, 10), (64, 20), (16, 0), (5, 0)):
        x = torch.randn(rows, 8)
        assert torch.allclose(module(x), module.reference(x) + gain)
        assert (module.kernel_for(x) is None) == (gain == 0)


@torch.no_grad()
def test_outside_what_was_judged_the_reference_runs(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(4, 8)
    assert module.kernel_for(x) is not None
    assert module.kernel_for(x.double()) is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module.kernel_for(x) is None
    assert torch.equal(module(x=x), module.reference(x))
    assert module.eval().kernel_for(x) is None


def test_where_gradients_are_wanted_the_reference_runs(tmp_path):
    """A kernel gives none: weights in front of it would never learn, and nobody would notice."""
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(4, 8)
    module(x).sum().backward()
    assert module.reference.scale.grad is not None
    module.requires_grad_(False)
    assert module.kernel_for(x.clone().requires_grad_()) is None
    assert not module(x).requires_grad
    assert torch.allclose(module(x), module.reference(x) + 10)


@torch.no_grad()
def test_of_two_kernels_for_a_shape_the_faster_one_counts(tmp_path):
    slow, fast = result(tmp_path, 4, 1.5, gain=10), result(tmp_path, 4, 3.0, gain=20)
    x = torch.randn(4, 8)
    for results in ([slow, fast], [fast, slow]):
        module = kw.build(results)
        assert torch.allclose(module(x), module.reference(x) + 20)


def test_weights_that_are_given_reach_reference_and_kernels(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0)], state_dict={"scale": torch.full((8,), 3.0)})
    for rows in (4, 5):
        assert torch.equal(module(torch.ones(rows, 8)), torch.full((rows, 8), 3.0))


@pytest.mark.parametrize("changed", [lambda module: module, copy.deepcopy, torch.nn.Module.double])
def test_kernels_have_the_weights_that_training_leaves(tmp_path, changed):
    module = changed(kw.build([result(tmp_path, 4, 2.0)]))
    assert len(list(module.parameters())) == 1
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    x = torch.ones(4, 8, dtype=module.reference.scale.dtype)
    before = module(x).detach()
    module(x).sum().backward()
    optimizer.step()
    (kernel,) = module.kernels
    with torch.no_grad():
        assert torch.allclose(kernel(x), before - 4) and torch.equal(kernel(x), module.reference(x))


def test_what_is_frozen_stays_so(tmp_path):
    frozen = SOURCE.replace("torch.rand(width))", "torch.rand(width), requires_grad=False)")
    module = kw.build([result(tmp_path, 4, 2.0, source=frozen)])
    assert not any(weight.requires_grad for weight in module.parameters())


@torch.no_grad()
def test_inputs_that_lie_otherwise_in_memory_go_to_the_reference(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(8, 4).t()
    assert module.kernel_for(x) is None and module.kernel_for(x.contiguous()) is not None


def test_a_kernel_that_keeps_its_weights_in_another_form_shares_none(tmp_path):
    found = result(tmp_path, 4, 2.0)
    own = "    def _load_from_state_dict(self, state, prefix, *rest):\n"
    own += "        self.scale.data.copy_(state[prefix + 'scale'])\n"
    found.source_path.write_text(found.source_path.read_text() + "\n" + own)
    with pytest.raises(TaskError, match="another form"):
        kw.build([found])


def test_results_of_different_modules_are_refused(tmp_path):
    other = result(tmp_path, 4, 2.0, source=SOURCE.replace("torch.rand(width)", "torch.rand(1)"))
    with pytest.raises(TaskError, match="different modules"):
        kw.build([result(tmp_path, 4, 2.0), other])
    with pytest.raises(TaskError, match="nothing to build"):
        kw.build([])


@torch.no_grad()
def test_a_built_module_travels_with_its_text(tmp_path):
    found = result(tmp_path, 4, 2.0, gain=10)
    module = kw.build(found)
    module.eval()
    x = torch.randn(4, 8)
    saved = io.BytesIO()
    torch.save(module, saved)
    saved.seek(0)
    copies = [pickle.loads(pickle.dumps(module)), copy.deepcopy(module)]
    copies.append(torch.load(saved, weights_only=False))
    assert {type(one) for one in copies} == {type(module)}
    sent = pickle.dumps(module)
    del sys.modules[type(module).__module__]  # as in another process, which lacks the file too
    found.source_path.unlink()
    copies.append(pickle.loads(sent))
    assert "self.scale + 10" in inspect.getsource(type(copies[-1]))
    for one in copies:
        assert torch.equal(one(x), module(x)) and not one.training
        assert one.scale is not module.scale


@pytest.mark.parametrize("nothing", [None, 3, "", ["kernel.py"], b""])
def test_what_is_nothing_to_build_is_one_error(nothing):
    with pytest.raises(TaskError, match=r"nothing to build|cannot be built"):
        kw.build(nothing)


@pytest.mark.parametrize("name", ["nothing.py", "notes.txt", "empty.py", "."])
def test_what_is_no_candidate_is_one_error(tmp_path, name):
    for written in ("notes.txt", "empty.py"):
        (tmp_path / written).write_text("")
    with pytest.raises(TaskError, match=r"cannot be built|defines no ModelNew") as caught:
        kw.build(tmp_path / name)
    assert "Result" in caught.value.do
