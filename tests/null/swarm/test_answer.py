"""Reading the code of an answer, and naming the fault of an answer without code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.null.swarm.briefs import CODE, answer

from kernelwright.core.candidate import Candidate
from kernelwright.proposers.swarm.answer import read

TORCH = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"


@pytest.mark.parametrize(
    "text",
    [
        answer(),
        f"```python\n{CODE}```",
        f"<think>\n```python\nclass ModelNew: pass\n```\n</think>\n```python\n{CODE}\n```\nDone.",
        f"First:\n```cpp\nint x;\n```\nThen:\n```py\n{CODE}```",
        f"```python\n{TORCH}```\nor rather\n```python\n{CODE}```",
    ],
)
def test_the_last_block_that_defines_the_entry_is_the_code(text):
    assert read(text, "cpp").code == CODE


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("I am sorry.", "no code"),
        (f"```python\n{CODE}", "never closed"),
        ("```python\nclass Model: pass\n```", "no class ModelNew"),
        ("```python\nclass ModelNew: pass pass\n```", "not Python"),
        ("```python\ndef f():\n    class ModelNew: pass\n```", "at the top level"),
        (f"```python\n{TORCH}```", "no kernel in cpp"),
    ],
)
def test_the_fault_is_named(text, fault):
    found = read(text, "cpp")
    assert not found.code and fault in found.fault


@given(st.text())
def test_every_answer_gives_either_code_or_a_fault(text):
    found = read(text, "torch")
    assert bool(found.code) != bool(found.fault)


def test_two_ways_to_write_the_same_text_have_one_normal_form():
    reworded = CODE.replace("// a kernel", "/* mine */").replace('    """A cand', '    """My cand')
    other = CODE.replace("int one", "int two")
    first, second, third = (Candidate(text, "cpp") for text in (CODE, reworded, other))
    assert first.digest != second.digest and first.normal == second.normal != third.normal


KERNEL = """import triton
import triton.language as tl
import torch


@triton.jit
def twice(v):
    return v + v


@triton.jit
def add(x, BLOCK: tl.constexpr):
    twice(1)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        {does}
        return torch.relu(x)
"""


def test_a_kernel_that_is_never_launched_does_not_count():
    launched = f"```python\n{KERNEL.format(does='add[(1,)](x, BLOCK=8)')}```"
    copied = f"```python\n{KERNEL.format(does='x = x.contiguous()')}```"
    assert read(launched, "triton").code
    assert "launches no kernel" in read(copied, "triton").fault


def test_a_decorator_that_is_nested_deeply_is_read():
    deep = KERNEL.replace("@triton.jit", "@a" + "(1)" * 900, 1).format(does="add[(1,)](x, BLOCK=8)")
    assert read(f"```python\n{deep}```", "triton").code


@pytest.mark.parametrize("n_terms", [1_500, 50_000])
def test_a_sum_of_many_terms_has_a_normal_form(n_terms):
    candidate = Candidate("class ModelNew: ...\nx = 1" + " + 1" * n_terms, "torch")
    assert candidate.normal != Candidate(candidate.source + " + 1", "torch").normal
