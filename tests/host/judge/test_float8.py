"""Tensors of 8 bits are judged, as inputs and as outputs: torch computes with hardly any."""

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

QUANTISED = """
import torch
from torch import nn


class {name}(nn.Module):
    def forward(self, x):
        x = {given}
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-10) / {largest}
        return ({scaled}).clamp(-{largest}, {largest}){through}.to(torch.{kind}), scale


def get_inputs():
    return [torch.randn(64, 256, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
"""
PRODUCT = """
import torch
from torch import nn


class {name}(nn.Module):
    def forward(self, a, b, scale):
        return {made}


def get_inputs():
    a = (torch.randn(32, 128) * 10).to(torch.float8_e4m3fn)
    b = (torch.randn(128, 64) * 10).to(torch.float8_e5m2)
    return [a, b, torch.rand(32, 1) + 0.1]


def get_init_inputs():
    return []
"""


def status(task: str, candidate: str) -> Status:
    with Judge(Task("narrow", "kernelbench", task), settings=Settings(threads=1)) as judge:
        (found,) = judge.evaluate_all([Candidate(candidate, "torch")], timed=False)
    return found.status


def quantised(name="ModelNew", given="x.float()", scaled="x / scale", through="", kind="e4m3fn"):
    largest = "448.0" if kind == "e4m3fn" else "57344.0"
    return QUANTISED.format(
        name=name, given=given, scaled=scaled, through=through, kind=f"float8_{kind}",
        largest=largest,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["e4m3fn", "e5m2"])
@pytest.mark.parametrize(
    "honest", [{}, {"scaled": "x * (1 / scale)"}, {"through": ".bfloat16()"}], ids=str
)
def test_the_same_rounding_by_another_way_passes(kind, honest):
    assert status(quantised("Model", kind=kind), quantised(kind=kind, **honest)) is Status.PASSED


@pytest.mark.parametrize(
    "wrong",
    [
        {"scaled": "x * 1.02 / scale"},
        {"through": ".to(torch.float8_e5m2).float()"},
    ],
    ids=str,
)
def test_a_coarser_or_shifted_rounding_is_refused(wrong):
    assert status(quantised("Model"), quantised(**wrong)) is Status.WRONG_VALUES


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("a.float() @ b.float() * scale", Status.PASSED),
        ("(a.float() * scale) @ b.float()", Status.PASSED),
        ("a.bfloat16() @ b.bfloat16() * scale", Status.WRONG_VALUES),
        ("a.float() @ b.float()", Status.WRONG_VALUES),
    ],
)
def test_a_product_of_narrow_inputs_is_compared_in_its_own_type(made, expected):
    task = PRODUCT.format(name="Model", made="(a.float() @ b.float()) * scale")
    assert status(task, PRODUCT.format(name="ModelNew", made=made)) is expected
