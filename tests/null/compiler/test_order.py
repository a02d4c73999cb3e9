"""The variants that are tried first for a task with convolutions."""

from __future__ import annotations

import itertools

import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.loaders import load
from kernelwright.proposers.rules import RulesProposer
from kernelwright.proposers.rules.order import (
    FUSED,
    LAST,
    NARROW,
    OWN,
    POSITIONS,
    RELU,
    convolutions,
    leading,
    operators,
)


def first(
    module: nn.Module, *shape: int, dtype: torch.dtype = torch.float32
) -> tuple[tuple[str, str], ...]:
    graph = capture(module.to(dtype), [torch.randn(shape, dtype=dtype)]).graph
    return leading(convolutions([graph]), operators([graph]))


def test_transposed_convolutions_of_wide_steps_run_with_channels_last_first() -> None:
    assert first(nn.ConvTranspose2d(32, 64, 4, 2), 2, 32, 8, 8)[0] == (LAST, "triton")
    assert first(nn.ConvTranspose3d(32, 64, 3, 2), 2, 32, 8, 8, 8)[0] == (LAST, "triton")
    assert first(nn.ConvTranspose3d(32, 64, 3), 2, 32, 8, 8, 8)[0] == (OWN, "triton")


def test_the_heaviest_convolution_decides() -> None:
    few, many = nn.Conv2d(3, 64, 3), nn.Conv2d(64, 64, 3)
    assert first(few, 2, 3, 8, 8)[:2] == ((OWN, "triton"), (OWN, "triton"))
    assert first(nn.Sequential(few, many), 2, 3, 8, 8)[1] == (FUSED, "triton")
    assert first(nn.ReLU(), 2, 3) == ()


def test_own_products_and_recurrences_are_tried_first_where_an_emitter_exists() -> None:
    assert first(nn.Linear(3, 4), 2, 3) == ((OWN, "triton"), (OWN, "triton"), (FUSED, "triton"))
    assert first(nn.LSTM(3, 4), 2, 3)[0] == (OWN, "cuda")


def test_channels_last_comes_after_own_convolutions_and_fused_ones() -> None:
    layers = nn.Sequential(nn.Conv2d(32, 64, 3), nn.GroupNorm(2, 64))
    assert first(layers, 2, 32, 8, 8).index((LAST, "triton")) == 2
    assert (LAST, "triton") not in first(nn.Conv2d(3, 64, 3), 2, 3, 8, 8)


def test_networks_of_many_convolutions_begin_with_channels_last_compiled_at_once() -> None:
    layers = [nn.Conv2d(4, 4, 1) for _ in range(8)]
    found = first(nn.Sequential(*layers), 2, 4, 5, 5)
    assert found[:3] == ((LAST, "cuda"), (FUSED, "cuda"), (LAST, "triton"))
    narrow = first(nn.Sequential(*layers), 2, 4, 5, 5, dtype=torch.bfloat16)
    assert narrow[:2] == ((POSITIONS, "triton"), (LAST, "cuda"))


def test_convolutions_at_which_the_library_is_slow_are_tried_as_own_code_with_channels_last() -> (
    None
):
    layers = nn.Sequential(nn.Conv2d(64, 32, 3), nn.Conv2d(32, 64, 3))
    assert (NARROW, "triton") in first(layers, 2, 64, 80, 80)
    assert (NARROW, "triton") not in first(layers, 2, 64, 20, 20)
    assert (NARROW, "triton") not in first(layers[0], 2, 64, 80, 80)


def test_the_library_takes_the_relus_of_networks_without_norms() -> None:
    layers = [nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()) for _ in range(8)]
    assert first(nn.Sequential(*layers), 2, 4, 5, 5)[0] == (RELU, "cuda")


class Mixer(nn.Module):
    """Layers that mix positions by convolutions of one tap, and channels by linear maps."""

    def __init__(self, n_channels: int) -> None:
        super().__init__()
        self.positions = nn.ModuleList(nn.Conv1d(6, 6, 1) for _ in range(8))
        self.channels = nn.ModuleList(nn.Linear(n_channels, n_channels) for _ in range(8))

    def forward(self, x):
        for positions, channels in zip(self.positions, self.channels, strict=True):
            x = channels(positions(x).relu())
        return x


def test_many_small_convolutions_do_not_hide_large_products() -> None:
    for n_channels, wanted in ((32, OWN), (2, FUSED)):
        task = load(Mixer(n_channels), inputs=[torch.randn(2, 6, n_channels)])
        brief = Brief(task, Device.parse("cuda:sm_90"), ("triton",))
        assert next(RulesProposer().propose(brief)).schedule["variant"] == wanted


WIDE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(8, 256, 3), nn.ReLU(), nn.Conv2d(256, 128, 3), nn.Conv2d(128, 256, 3)
        )

    def forward(self, x):
        return self.layers(x) + 1


def get_inputs():
    return [torch.randn(1, 8, 9, 9)]


def get_init_inputs():
    return []
"""


def test_weights_in_another_layout_are_prepared_whatever_their_size(tmp_path) -> None:
    file = tmp_path / "wide.py"
    file.write_text(WIDE)
    brief = Brief(load(str(file)), Device.parse("cuda:sm_90"), ("triton",))
    (first,) = itertools.islice(
        (p for p in RulesProposer().propose(brief) if p.schedule["variant"] == LAST), 1
    )
    _, prepare = first.candidate.source.split("def _prepared_with(self, kernels):")
    prepare, _ = prepare.split("    def ", 1)
    assert prepare.count("torch.clone(") == 3
    assert "del " not in prepare


LINEAR = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1024, 4096)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs():
    return [torch.randn(2048, 1024)]

def get_init_inputs():
    return []
"""


def test_no_variant_is_named_after_own_products_that_it_has_not() -> None:
    task, device = Task("linear", "kernelbench", LINEAR), Device.parse("cuda:sm_90")
    found = [*RulesProposer().propose(Brief(task, device, ("triton", "cuda")))]
    own = {one.candidate.dialect for one in found if one.schedule["variant"] == OWN}
    assert own == {"triton"}
    assert {one.candidate.dialect for one in found} == {"triton", "cuda"}
    first = found[0].schedule["kernels"]["fused_linear_relu"]
    assert (found[0].schedule["variant"], first["precision"]) == (OWN, "fp16x2_3")
