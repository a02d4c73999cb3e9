"""Inputs, weights and results that cannot be passed on or compared are refused."""

import pytest
import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.plain import flatten, nesting
from kernelwright.loaders.reference import check, open_reference
from kernelwright.loaders.thread_state import made_in_float64

TEXT = """
import collections
import dataclasses
from typing import NamedTuple

import numpy as np
import torch


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


@dataclasses.dataclass
class Both:
    a: torch.Tensor


def one_more(x):
    return x + 1


class Rows(list):
    pass


class Model(torch.nn.Module):
    def forward(self, x):
        return RESULT


def get_inputs():
    return [INPUT]


def get_init_inputs():
    return []
"""
ROWS = "torch.randn(4, 4)"


def task(given=ROWS, result="torch.ones(2)"):
    return Task("odd", "test", TEXT.replace("INPUT", given).replace("RESULT", result))


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (f"Pair({ROWS}, {ROWS})", "Pair, which the task defines"),
        (f"{{'both': [Both({ROWS})]}}", "Both, which the task defines"),
        ("one_more", "one_more, which the task defines"),
        ("Both", "Both, which the task defines"),
        (f"{ROWS}.max(0)", "max"),
        (f"{ROWS}.relu().to_sparse()", "layout sparse_coo"),
        (f"torch.nested.nested_tensor([{ROWS}[0]])", "a nested tensor"),
        ("np.ones(3)", "a NumPy array"),
        ("torch.ones(3, dtype=torch.uint16)", "a tensor of uint16"),
    ],
)
def test_inputs_that_cannot_be_passed_to_a_candidate_are_refused(given, seen):
    with pytest.raises(TaskError, match=f"get_inputs returns a value(.|\n)*{seen}"):
        check(task(given))


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        ("x.to_sparse()", "layout sparse_coo"),
        ("x.to_sparse_csr()", "layout sparse_csr"),
        ("torch.nested.nested_tensor([x[0]])", "a nested tensor"),
        ("{'x': 0.5}", "float"),
        ("[x, one_more]", "function"),
        ("x.to(torch.complex32)", "a tensor of complex32"),
    ],
)
def test_results_that_cannot_be_compared_are_refused(result, seen):
    with pytest.raises(TaskError, match=f"result cannot be compared(.|\n)*{seen}"):
        check(task(result=result))


@pytest.mark.parametrize(
    ("result", "nested"),
    [
        ("Pair(x, x + 1)", "[tensor, tensor]"),
        ("[x, Rows([x])]", "[tensor, [tensor]]"),
        ("{'x': (x, None), 'n': x.shape[0]}", "{'x': [tensor, None], 'n': 4}"),
        ("[Both(x), 'text', True]", "[{'a': tensor}, 'text', True]"),
        ("collections.OrderedDict(x=x)", "{'x': tensor}"),
    ],
)
def test_containers_of_any_kind_are_results_and_their_numbers_count(result, nested):
    odd = task(result=result)
    assert check(odd)
    reference = open_reference(odd)
    given = reference.build(0)(*reference.inputs(0))
    assert nesting(given) == nested
    assert len(flatten(given)) == nested.count("tensor")


def test_torchs_own_named_tuples_are_taken_as_plain_ones():
    assert check(task(result="[torch.topk(x, 2), None, (x,)]"))


@pytest.mark.parametrize("result", ["None", "[None, ()]"])
def test_an_empty_result_is_refused(result):
    with pytest.raises(TaskError, match="returns nothing"):
        check(task(result=result))


def test_plain_inputs_are_kept_and_tensors_are_on_the_device():
    given = f"{{'rows': {ROWS}, 'how': ['mean', 2, None]}}, torch.Size([3]), torch.float32"
    (held, shape, dtype) = open_reference(task(given)).inputs(0, "meta")
    assert held["rows"].device.type == "meta" and held["how"] == ["mean", 2, None]
    assert tuple(shape) == (3,) and str(dtype) == "torch.float32"


def test_incomparable_dtypes_and_sparse_layouts_are_different_errors():
    told = []
    for odd in (task("torch.ones(3).to(torch.uint16)"), task(result="x.to(torch.uint32)")):
        with pytest.raises(TaskError) as refused:
            check(odd)
        told.append(refused.value.do)
    assert all("int64" in one and "dense" not in one for one in told)


@pytest.mark.parametrize("put_off", ["conj()", "conj().imag", "mH"])
def test_lazy_conjugation_and_negation_are_materialised(put_off):
    given = f"torch.randn(4, 4, dtype=torch.complex64).{put_off}"
    (x,) = open_reference(task(given)).inputs(0)
    assert not x.is_conj() and not x.is_neg()


DOUBLE = """
import torch

torch.set_default_dtype(torch.float64)


class Model(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(4)


def get_inputs():
    return [torch.randn(4)]


def get_init_inputs():
    return []
"""


def test_the_default_dtype_of_a_task_affects_only_that_task():
    reference = open_reference(Task("double", "test", DOUBLE))
    assert torch.get_default_dtype() == torch.float32
    with reference.in_its_type():
        assert torch.ones(1).dtype == torch.float64
    assert reference.inputs(0)[0].dtype == torch.float64
    with open_reference(task()).in_its_type():
        assert torch.ones(1).dtype == torch.float32
    with made_in_float64(), open_reference(task()).in_its_type():  # somebody asks for that
        assert torch.ones(1).dtype == torch.float64
