"""Proposed files under autocast and with weights of another form: kernels would read numbers of
one type as those of another, and beyond the end of the memory."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from tests.host.compiler.test_candidates import built, cache_folder, proposals
from torch import nn

from kernelwright.core.task import Task
from kernelwright.loaders import load, open_reference

__all__ = ["cache_folder"]

GATED = """
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.register_buffer("scale", torch.rand(16))
        self.shift = torch.rand(16)

    def forward(self, x):
        return self.norm(x) * self.scale + self.shift


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), Gate())

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
"""
PARTED = GATED.replace("return self.layers(x)", "return self.layers(x * float(x.sum() > 0))")


def to_double(module: nn.Module, path: str) -> None:
    module.get_parameter(path).data = module.get_parameter(path).data.double()


def assigned_half(module: nn.Module, path: str) -> None:
    state = module.state_dict()
    module.load_state_dict({**state, path: state[path].half()}, assign=True)


def other_parameter(module: nn.Module, path: str) -> None:
    part, _, name = path.rpartition(".")
    wide = module.get_parameter(path).detach().double()
    setattr(module.get_submodule(part), name, nn.Parameter(wide))


def transposed(module: nn.Module, path: str) -> None:
    value = module.get_parameter(path).data
    module.get_parameter(path).data = value.t().contiguous().t() if value.dim() > 1 else value[::2]


def no_longer_there(module: nn.Module, path: str) -> None:
    part, _, name = path.rpartition(".")
    setattr(module.get_submodule(part), name, None)


CHANGES = [to_double, assigned_half, other_parameter, transposed, no_longer_there]
PATHS = ["layers.0.weight", "layers.0.bias", "layers.2.norm.weight"]


Pair = tuple[nn.Module, nn.Module]


@pytest.fixture(scope="module", params=[GATED, PARTED], ids=["whole", "parts"])
def make(request) -> Callable[[], Pair]:
    """Makes the candidate and the reference, with the same weights."""
    task = Task("example", "folder", request.param)
    proposal = proposals(task)[0]

    def made() -> Pair:
        candidate, module = built(task, proposal)
        candidate.layers[2].shift = module.layers[2].shift
        return candidate, module

    return made


def outcome(module: nn.Module, x: torch.Tensor) -> torch.Tensor | str:
    """Return the module's result, or the error that it raises."""
    try:
        return module(x)
    except (AttributeError, RuntimeError, TypeError) as error:
        return str(error)


@torch.no_grad()
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_replaced_weights_take_the_reference_forward(make, change, path) -> None:
    candidate, module = make()
    x = torch.randn(6, 8)
    torch.testing.assert_close(candidate(x), module(x))
    for target in (candidate, module):
        change(target, path)
    found, wanted = outcome(candidate, x), outcome(module, x)
    assert found == wanted if isinstance(wanted, str) else torch.equal(found, wanted)


@torch.no_grad()
@pytest.mark.parametrize("name", ["scale", "shift"])
def test_replaced_buffers_and_plain_tensors_take_the_reference_forward(make, name) -> None:
    candidate, module = make()
    x = torch.randn(6, 8)
    torch.testing.assert_close(candidate(x), module(x))
    for target in (candidate, module):
        setattr(target.layers[2], name, getattr(target.layers[2], name).double())
    assert torch.equal(candidate(x), module(x))


@torch.no_grad()
def test_weights_of_one_call_take_the_reference_forward(make) -> None:
    candidate, module = make()
    x = torch.randn(6, 8)
    given = {path: value.double() for path, value in module.state_dict().items()}
    wide = torch.func.functional_call(candidate, given, (x.double(),))
    assert torch.equal(wide, torch.func.functional_call(module, given, (x.double(),)))


@torch.no_grad()
def test_autocast_takes_the_reference_forward(make) -> None:
    candidate, module = make()
    x = torch.randn(6, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(candidate(x), module(x))
        with torch.autocast("cpu", enabled=False):
            torch.testing.assert_close(candidate(x), module(x))


@torch.no_grad()
def test_inputs_that_are_not_tensors_take_the_reference_forward(make) -> None:
    """Such inputs have no dtype, and the reference may support them."""
    candidate, module = make()
    for x in ([1.0, 2.0], None, torch.randn(6, 8).numpy()):
        found, wanted = outcome(candidate, x), outcome(module, x)
        assert isinstance(wanted, str) and found == wanted


@pytest.fixture(scope="module")
def sourceless() -> nn.Module:
    layers = nn.Sequential(nn.Linear(8, 16), nn.GELU())
    task = load(layers, inputs=[torch.randn(8, 4).t()], name="example")
    return built(task, proposals(task)[0])[0]


@torch.no_grad()
@pytest.mark.parametrize(
    "given, seen",
    [
        (torch.randn(7, 8), "float32[7, 8] with strides (8, 1) on cpu"),
        (torch.randn(4, 8), "float32[4, 8] with strides (8, 1) on cpu"),
        (torch.randn(8, 4).t().double(), "float64[4, 8] with strides (1, 4) on cpu"),
        ([1.0, 2.0], "[1.0, 2.0]"),
    ],
    ids=["shape", "strides", "dtype", "list"],
)
def test_without_source_the_error_says_what_was_seen_and_what_the_kernels_are_for(
    sourceless, given, seen
) -> None:
    sourceless(torch.randn(8, 4).t())
    with pytest.raises(RuntimeError, match="not made for this call") as caught:
        sourceless(given)
    text = str(caught.value)
    assert f"seen: {seen}, in train mode, without gradients, with weights of float32 on cpu" in text
    assert "Made for input: float32[n_batch, 8] with strides (1, n_batch) on cpu" in text
    assert "kw.build([result])" in text and "torch.no_grad()" in text


@torch.no_grad()
@pytest.mark.parametrize(
    "use, seen",
    [
        (torch.enable_grad(), "with gradients"),
        (torch.autocast("cpu", dtype=torch.bfloat16), "under autocast"),
    ],
    ids=["gradients", "autocast"],
)
def test_without_source_the_error_names_other_modes_of_torch(sourceless, use, seen) -> None:
    with use, pytest.raises(RuntimeError, match=f"seen: .* {seen}, with weights"):
        sourceless(torch.randn(8, 4).t())


@torch.no_grad()
def test_without_source_the_error_names_the_other_mode_and_other_weights(sourceless) -> None:
    other = copy.deepcopy(sourceless).eval().double()
    with pytest.raises(RuntimeError, match=r"in eval mode, .* with weights of float64 on cpu"):
        other(torch.randn(8, 4).t())


KEYWORDS = """
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 16)

    def forward(self, x, *, scale=1.0):
        return torch.sigmoid(self.linear(x)) * scale


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scaled()

    def forward(self, x, *, scale=1.0):
        x = x * float(x.sum() > -1e9)
        return self.inner(x) if scale == 1.0 else self.inner(x, scale=scale)


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
"""


@torch.no_grad()
@pytest.mark.parametrize("entry", ["Scaled", "Around"])
def test_a_keyword_only_argument_of_another_value_takes_the_reference_forward(entry) -> None:
    task = Task("example", "folder", KEYWORDS, entry)
    candidate, module = built(task, proposals(task)[0])
    x = torch.randn(6, 8)
    for given in ({}, {"scale": 2.0}):
        torch.testing.assert_close(candidate(x, **given), module(x, **given))


@torch.no_grad()
def test_without_source_another_keyword_only_value_is_refused() -> None:
    module = open_reference(Task("example", "folder", KEYWORDS, "Scaled")).build(0)
    x = torch.randn(6, 8)
    task = load(module, inputs=[x])
    candidate, _ = built(task, proposals(task)[0])
    torch.testing.assert_close(candidate(x), module(x))
    with pytest.raises(RuntimeError, match=r"seen: float32\[6, 8\] .*, scale=2\.0, in train"):
        candidate(x, scale=2.0)
    with pytest.raises(TypeError, match="positional"):
        candidate(x, 2.0)


def test_a_default_without_a_literal_does_not_end_the_search() -> None:
    class Chosen(nn.Module):
        def forward(self, x, kind=object):
            return torch.relu(x) * 2

    task = load(Chosen(), inputs=[torch.randn(4, 8)])
    assert proposals(task) == []
