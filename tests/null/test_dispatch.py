"""A module built from several results picks its kernel by input shape."""

import copy
import inspect
import io
import pickle
import sys

import pytest
import torch
from tests.null.swarm.briefs import verdict
from torch.fx.experimental.proxy_tensor import make_fx

import kernelwright as kw
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.search.library_candidate import library_candidate
from kernelwright.search.result import Result, write_source

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
    """Return a result for inputs with this many rows; its kernel adds ``gain``."""
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
        assert torch.allclose(module(x), module.forward.own(x) + gain)
        assert (module.forward.kernel_for(x) is None) == (gain == 0)


@torch.no_grad()
def test_calls_unlike_those_judged_run_the_reference(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(4, 8)
    assert module.forward.kernel_for(x) is not None
    assert module.forward.kernel_for(x.double()) is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module.forward.kernel_for(x) is None
    assert module.eval().forward.kernel_for(x) is None


@torch.no_grad()
def test_calls_by_keyword_have_the_kernel_too(tmp_path):
    source = SOURCE.replace("forward(self, x)", "forward(self, x, k=2, more=(), *, name='')")
    source = source.replace("8)]", "8), 2, ()]")
    module = kw.build([result(tmp_path, 4, 2.0, source)])
    x = torch.randn(4, 8)
    kernel = module.forward.kernel_for(x, 2, ())
    assert kernel is not None and module.forward.why_not(x, more=()) == ""
    for given in ({"x": x, "k": 2, "more": ()}, {"x": x, "more": ()}):
        assert module.forward.kernel_for(**given) is kernel
    for given in ({"x": x, "k": 3, "more": ()}, {"x": x, "more": (), "name": "other"}, {"y": x}):
        assert module.forward.kernel_for(**given) is None
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        module(y=x)


@torch.no_grad()
def test_a_kernel_that_knows_nothing_of_traces_is_not_traced(tmp_path):
    """It would hand addresses of tensors that have none to code of its own."""
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(4, 8)
    assert module.forward.kernel_for(x) is not None

    assert torch.equal(module(torch._neg_view(x)), module.forward.own(-x))
    traced = make_fx(module)(x)
    assert torch.equal(traced(x), module.forward.own(x))
    assert torch.equal(torch.func.vmap(module)(x[None])[0], module.forward.own(x))


@torch.no_grad()
def test_a_kernel_that_was_judged_on_other_numbers_or_lists_is_not_called(tmp_path):
    """A kernel may have a number compiled in that was the same in every draw."""
    source = SOURCE.replace("forward(self, x)", "forward(self, x, k=2, more=())")
    source = source.replace("8)]", "8), 3, [torch.randn(2)]]")
    module = kw.build([result(tmp_path, 4, 2.0, source)])
    x, y = torch.randn(4, 8), torch.randn(2)
    assert module.forward.kernel_for(x, 3, [y]) is not None
    for others in [(4, [y]), (3.0, [y]), (3, (y,)), (3, [y, y]), (3, [y.double()]), (3, y), (3,)]:
        assert module.forward.kernel_for(x, *others) is None
    with torch.enable_grad():
        assert module.forward.kernel_for(x, 3, [y.clone().requires_grad_()]) is None


def test_calls_that_need_gradients_run_the_reference(tmp_path):
    """A kernel gives no gradients, so weights before it would silently never learn."""
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(4, 8)
    module(x).sum().backward()
    assert module.scale.grad is not None
    module.requires_grad_(False)
    assert module.forward.kernel_for(x.clone().requires_grad_()) is None
    assert not module(x).requires_grad
    assert torch.allclose(module(x), module.forward.own(x) + 10)


@torch.no_grad()
def test_the_faster_of_two_kernels_for_a_shape_is_used(tmp_path):
    slow, fast = result(tmp_path, 4, 1.5, gain=10), result(tmp_path, 4, 3.0, gain=20)
    x = torch.randn(4, 8)
    for results in ([slow, fast], [fast, slow]):
        module = kw.build(results)
        assert torch.allclose(module(x), module.forward.own(x) + 20)


def test_weights_that_are_given_reach_reference_and_kernels(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0)], state_dict={"scale": torch.full((8,), 3.0)})
    for rows in (4, 5):
        assert torch.equal(module(torch.ones(rows, 8)), torch.full((rows, 8), 3.0))


@pytest.mark.parametrize("changed", [lambda module: module, copy.deepcopy, torch.nn.Module.double])
def test_kernels_have_the_weights_that_training_leaves(tmp_path, changed):
    module = changed(kw.build([result(tmp_path, 4, 2.0)]))
    assert len(list(module.parameters())) == 1
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    x = torch.ones(4, 8, dtype=module.scale.dtype)
    before = module(x).detach()
    module(x).sum().backward()
    optimizer.step()
    (kernel,) = module.forward.kernels.values()
    with torch.no_grad():
        assert torch.allclose(kernel(x), before - 4) and torch.equal(
            kernel(x), module.forward.own(x)
        )


@torch.no_grad()
@torch.no_grad()
def test_a_part_with_two_names_is_shared_under_both(tmp_path):
    source = PARTED.replace("self.part(x)", "self.again(self.part(x))").replace(
        "self.part = Part(width)", "self.part = self.again = Part(width)"
    )
    found = result(tmp_path, 4, 2.0, source=source)
    code = source.partition("def get_inputs")[0].replace("Model", "ModelNew")
    code = code.replace("= self.again", "= Part(width)\n        self.again")
    found.source_path.write_text(code)
    fast = kw.build([found])
    fast.part.scale = torch.nn.Parameter(torch.zeros(8))
    (kernel,) = fast.forward.kernels.values()
    assert torch.equal(kernel(torch.randn(4, 8)), fast.part.shift.expand(4, 8))


def test_frozen_weights_stay_frozen(tmp_path):
    frozen = SOURCE.replace("torch.rand(width))", "torch.rand(width), requires_grad=False)")
    module = kw.build([result(tmp_path, 4, 2.0, source=frozen)])
    assert not any(weight.requires_grad for weight in module.parameters())


@torch.no_grad()
def test_inputs_with_other_strides_run_the_reference(tmp_path):
    module = kw.build([result(tmp_path, 4, 2.0, gain=10)])
    x = torch.randn(8, 4).t()
    assert (
        module.forward.kernel_for(x) is None
        and module.forward.kernel_for(x.contiguous()) is not None
    )


LOADS = """
    def _load_from_state_dict(self, state, prefix, *rest):
        self.scale.data.copy_(state[prefix + 'scale'])
"""
PACKS = """
    def train(self, mode):
        self.register_buffer("packed", self.scale.half(), persistent=False)
        return super().train(mode)
"""


@pytest.mark.parametrize("own", [LOADS, PACKS], ids=["loads", "packs"])
def test_a_kernel_that_keeps_its_weights_in_another_form_shares_none(tmp_path, own):
    found = result(tmp_path, 4, 2.0)
    made = "        self.train(True)\n" if own is PACKS else ""
    code = found.source_path.read_text().replace("(width))\n", f"(width))\n{made}")
    found.source_path.write_text(f"{code}\n{own}")
    with pytest.raises(TaskError, match="another form"):
        kw.build([found])


def test_results_of_different_modules_are_refused(tmp_path):
    other = result(tmp_path, 4, 2.0, source=SOURCE.replace("torch.rand(width)", "torch.rand(1)"))
    with pytest.raises(TaskError, match="different modules"):
        kw.build([result(tmp_path, 4, 2.0), other])
    with pytest.raises(TaskError, match="nothing to build"):
        kw.build([])


PARTED = """
import torch


class Part(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(width))
        self.register_buffer("shift", torch.rand(width))

    def forward(self, x):
        return x * self.scale + self.shift


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.part = Part(width)

    def forward(self, x):
        return self.part(x)


def get_inputs():
    return [torch.randn({rows}, 8)]


def get_init_inputs():
    return [8]
"""


def parted(tmp_path):
    """A result for a module with a submodule; its kernel adds 10."""
    found = result(tmp_path, 4, 2.0, source=PARTED)
    code = PARTED.partition("def get_inputs")[0].replace("Model", "ModelNew")
    code = code.replace("self.part(x)", "self.part(x) + 10")
    found.source_path.write_text(code)
    return found


BUILDS = [lambda found: kw.build(found), lambda found: kw.build([found])]


@torch.no_grad()
@pytest.mark.parametrize("built", BUILDS, ids=["one", "several"])
def test_the_state_has_the_names_of_the_module(tmp_path, built):
    """States can be loaded from the module into the built one and back."""
    found = parted(tmp_path)
    module, fast = open_reference(found.task).build(1), built(found)
    x = torch.randn(4, 8)
    assert list(fast.state_dict()) == list(module.state_dict())
    assert [n for n, _ in fast.named_parameters()] == [n for n, _ in module.named_parameters()]
    for assign in (False, True):
        module.part.scale.add_(1)
        fast.load_state_dict(copy.deepcopy(module.state_dict()), assign=assign)
        assert torch.allclose(fast(x), module(x) + 10)
    around = torch.nn.Sequential(fast)
    around.load_state_dict({f"0.{name}": torch.ones(8) for name in module.state_dict()})
    module.load_state_dict(fast.state_dict())
    assert torch.equal(fast(x), x + 1 + 10) and torch.equal(module(x), x + 1)


CHANGES = {
    "a parameter": lambda part: setattr(part, "scale", torch.nn.Parameter(torch.rand(8))),
    "a buffer": lambda part: setattr(part, "shift", torch.rand(8)),
    "all of them": lambda part: part.half().float(),
}


@torch.no_grad()
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_kernels_use_a_replaced_weight(tmp_path, change):
    fast = kw.build([parted(tmp_path)])
    change(fast.part)
    x = torch.randn(4, 8)
    assert torch.allclose(fast(x), fast.forward.own(x) + 10)


@torch.no_grad()
def test_a_kernels_fallback_runs_the_modules_own_forward(tmp_path):
    """Kernels of a module without source text would refuse the call."""
    found = parted(tmp_path)
    text = found.source_path.read_text()
    refusing = text.replace("self.part(x) + 10", "self._reference_forward(x)")
    found.source_path.write_text(refusing)
    fast = kw.build([found])
    x = torch.randn(4, 8)
    assert fast.forward.kernel_for(x) is not None
    assert torch.equal(fast(x), fast.forward.own(x))


def again(module):
    saved = io.BytesIO()
    torch.save(module, saved)
    saved.seek(0)
    return torch.load(saved, weights_only=False)


COPIES = [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module)), again]


@torch.no_grad()
@pytest.mark.parametrize("copied", COPIES, ids=["deepcopy", "pickle", "torch.save"])
@pytest.mark.parametrize("built", BUILDS, ids=["one", "several"])
def test_a_built_module_can_be_copied(tmp_path, built, copied):
    found = parted(tmp_path)
    fast = built(found).eval().train()
    kw.build([found])  # opens the same texts once more
    twin = copied(fast)
    x = torch.randn(4, 8)
    assert type(twin) is type(fast) and torch.equal(twin(x), fast(x))
    before = fast(x)
    twin.part.scale.fill_(2.0)
    assert torch.allclose(twin(x), x * 2 + twin.part.shift + 10) and torch.equal(fast(x), before)
    assert copied(twin.eval()).training is False


@torch.no_grad()
@pytest.mark.parametrize("built", BUILDS, ids=["one", "several"])
def test_a_built_module_is_pickled_with_its_sources(tmp_path, built):
    found = parted(tmp_path)
    fast = built(found)
    x = torch.randn(4, 8)
    wanted, sent = fast(x), pickle.dumps(fast)
    found.source_path.unlink()
    for _ in range(2):  # what has arrived can be sent on
        for name in [name for name in sys.modules if name.startswith("kernelwright_")]:
            del sys.modules[name]  # as in another process
        arrived = pickle.loads(sent)
        assert torch.equal(arrived(x), wanted)
        assert "self.part(x)" in inspect.getsource(type(arrived).forward)
        sent = pickle.dumps(arrived)


@torch.no_grad()
def test_the_librarys_file_takes_what_the_module_takes(tmp_path):
    source = SOURCE.format(rows=4).replace("(self, x)", "(self, x, *, times=1)")
    task = Task("scale", "kernelbench", source.replace("x * self", "times * x * self"))
    module = open_reference(task).build(0)
    path = write_source(library_candidate(task, "eager"), tmp_path, "scale")
    fast = kw.build(Result(task, None, None, [], "eager", path, ""), state_dict=module.state_dict())
    x = torch.randn(4, 8)
    assert torch.equal(fast(x=x, times=3), module(x, times=3))


@pytest.mark.parametrize("nothing", [None, 3, "", ["kernel.py"], b""])
def test_building_from_something_else_is_an_error(nothing):
    with pytest.raises(TaskError, match=r"nothing to build|cannot be built"):
        kw.build(nothing)


@pytest.mark.parametrize("name", ["nothing.py", "notes.txt", "empty.py", "."])
def test_building_from_a_file_that_is_no_candidate_is_an_error(tmp_path, name):
    for written in ("notes.txt", "empty.py"):
        (tmp_path / written).write_text("")
    with pytest.raises(TaskError, match=r"cannot be built|defines no ModelNew") as caught:
        kw.build(tmp_path / name)
    assert "Result" in caught.value.do
