"""Outlines say what the steps of a program do and how much of it."""

import pytest

from kernelwright.compiler.codegen.outline import outline_of
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.proposers.rules.proposer import OpenedTask, emitters

TEXT = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 128)

    def forward(self, x):
        return torch.softmax(self.linear(x), dim=-1)

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def outlines():
    task, device = Task("task", "kernelbench", TEXT), Device.parse("cuda:sm_90")
    opened = OpenedTask(Brief(task, device, ("triton",)))
    [emitter] = emitters(opened.brief)
    return {way.name: outline_of(opened.program(way, emitter)) for way in opened.variants}


def test_a_product_has_its_sizes_and_its_arithmetic(outlines):
    product, softmax = outlines["fused, own matmul"].steps
    assert (product.kind, softmax.kind) == ("product", "nest")
    assert product.sizes["flops"] == 2 * 32 * 128 * 64
    sizes = [product.sizes[name] for name in ("rows", "columns", "k")]
    assert sizes == [32, 128, 64]
    assert product.sizes["bytes"] == 4 * (32 * 64 + 64 * 128 + 32 * 128)


def test_a_nest_has_its_operators_and_its_passes(outlines):
    softmax = outlines["fused, own matmul"].steps[-1]
    assert softmax.form["row"] == softmax.form["exp"] == softmax.form["max"] == 1
    sizes = [softmax.sizes[name] for name in ("rows", "columns", "passes")]
    assert sizes == [32, 128, 2]


def test_a_product_of_the_library_counts_as_much(outlines):
    linear, softmax = outlines["fused"].steps
    assert (linear.name, linear.kind) == ("", "library") and softmax.name
    assert linear.sizes["flops"] == 2 * 32 * 128 * 64


def test_equal_programs_have_one_digest(outlines):
    digests = {outline.digest for outline in outlines.values()}
    assert 1 < len(digests) < len(outlines)


def test_a_recurrence_of_the_library_counts_its_products():
    text = TEXT.replace("nn.Linear(64, 128)", "nn.LSTM(32, 64, batch_first=True)")
    text = text.replace("torch.softmax(self.linear(x), dim=-1)", "torch.tanh(self.linear(x)[0])")
    text = text.replace("torch.randn(32, 64)", "torch.randn(4, 16, 32)")
    task, device = Task("task", "kernelbench", text), Device.parse("cuda:sm_90")
    opened = OpenedTask(Brief(task, device, ("triton",)))
    [emitter] = emitters(opened.brief)
    steps = outline_of(opened.program(opened.variants[0], emitter)).steps
    [library] = [step for step in steps if "lstm" in str(step.form)]
    assert library.sizes["flops"] == 2 * 4 * 16 * (4 * 64 * 32 + 4 * 64 * 64)
