"""The operators of the loop language: a kernel uses no other, and every emitter has them all."""

import re

import pytest

from kernelwright.compiler.codegen.cpp import math as cpp_math
from kernelwright.compiler.codegen.cpp import ops as cpp
from kernelwright.compiler.codegen.cuda import ops as cuda
from kernelwright.compiler.codegen.triton import ops as triton
from kernelwright.compiler.ir.interpret import _POINTWISE
from kernelwright.compiler.ir.ir import POINTWISE, Compute

NAMES = ["a", "b", "c"]
CALLED = sorted(POINTWISE.keys() - {"cast"})  # which emitters write by the types of both sides


@pytest.mark.parametrize(
    ("op", "args"), [("atan", ("a",)), ("add", ("a",)), ("neg", ("a", "b")), ("where", ("a", "b"))]
)
def test_an_unknown_operator_or_number_of_arguments_is_refused(op, args):
    with pytest.raises(ValueError, match=op):
        Compute("x", op, args, "float32")


def test_the_interpreter_knows_all_and_no_others():
    assert _POINTWISE.keys() == POINTWISE.keys()


@pytest.mark.parametrize("op", CALLED)
def test_every_emitter_has_a_text_for_each(op):
    args = NAMES[: POINTWISE[op]]
    texts = [
        cpp.pointwise(op, [(name, "float32") for name in args], "float32"),
        cuda.CUDA.pointwise(op, args, "float32"),
        triton.pointwise(op, args, "float32", interpreted=False),
    ]
    for text in texts:
        assert all(re.search(rf"\b{name}\b", text) for name in args)
    called = re.findall(r"math::(\w+)", texts[0])
    assert all(f" {name}(" in cpp_math.prelude(texts[0]) for name in called)
