"""Tensors that a forward writes part by part, and lengths that it reads on the host."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from kernelwright.compiler.capture.capture import CannotCapture, capture
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Kernel, Program


class Halves(nn.Module):
    """Writes two slices, of another type than the tensor, which are all of it."""

    def forward(self, x):
        out = torch.empty_like(x, dtype=torch.float64)
        out[:, 3:] = torch.exp(x[:, 3:])
        out[:, :3] = x[:, :3] * 2.0
        return out


class Rows(nn.Module):
    """Writes one row after the other."""

    def forward(self, x):
        out = torch.empty_like(x)
        for n in range(x.shape[0]):
            out[n] = x[n] * float(n)
        return out


class Some(nn.Module):
    """Writes a part of a tensor that holds something, and part of that again."""

    def forward(self, x):
        out = x.clone()
        out[1:3] = x[1:3] * 2.0
        out[2:] = 7.0
        out[0, -1:] = x[1, -1:]
        out[::2, 0] = 1.0
        return out


class Attention(nn.Module):
    """Attention over each sequence of a batch without padding."""

    def forward(self, q, ends):
        out = torch.empty_like(q)
        start = 0
        for end in ends.tolist():
            part = q[start:end].transpose(0, 1)[None].float()
            found = F.scaled_dot_product_attention(part, part, part)
            out[start:end] = found[0].transpose(0, 1).to(q.dtype)
            start = end
        return out


class Chosen(nn.Module):
    """Rows of a cache of blocks, in the order of a table that is read number by number."""

    def forward(self, cache, table):
        flat = cache.view(-1, cache.shape[-1])
        size = cache.shape[1]
        places = [int(table[0, n]) * size + k for n in range(table.shape[1]) for k in range(size)]
        return flat.index_select(0, torch.tensor(places)) + 1.0


class Branch(nn.Module):
    """Goes two ways, by a value that it computes."""

    def forward(self, x, ids):
        return x + 1.0 if (ids == 3).any() else x


def program_of(module: nn.Module, *inputs: torch.Tensor) -> Program:
    captured = capture(module, inputs, reads=True)
    return assemble_supported(captured, Fusion(), lambda step: True, products=True)


def check(module: nn.Module, *inputs: torch.Tensor) -> Program:
    program = program_of(module, *inputs)
    torch.testing.assert_close(interpret(program, inputs, {}), module(*inputs))
    return program


@pytest.mark.parametrize("module", [Halves(), Rows(), Some()], ids=lambda m: type(m).__name__)
def test_parts_that_a_forward_writes_are_own_code(module):
    program = check(module, torch.randn(4, 5))
    assert not any(isinstance(step, Call) for step in program.steps[:-1])


def test_a_loop_over_lengths_that_are_read_is_captured_for_these_lengths():
    q, ends = torch.randn(7, 2, 8).bfloat16(), torch.tensor([4, 7], dtype=torch.int32)
    captured = capture(Attention(), [q, ends], reads=True)
    assert captured.read == {"ends": [4, 7]}
    check(Attention(), q, ends)


def test_a_table_that_is_read_number_by_number_chooses_rows_without_a_copy_of_the_cache():
    cache, table = torch.randn(5, 4, 8), torch.tensor([[1, 2, 3]])
    program = check(Chosen(), cache, table)
    assert [type(step) for step in program.steps] == [Kernel]


def test_values_that_are_computed_with_are_not_fixed():
    with pytest.raises(CannotCapture, match="values in its tensors"):
        capture(Branch(), [torch.randn(3), torch.tensor([1, 3])], reads=True)
    with pytest.raises(CannotCapture, match="values in its tensors"):
        capture(Attention(), [torch.randn(9, 2, 8), torch.tensor([4, 9])])


class Moved(nn.Module):
    """Reads lengths after it has changed one of them in place."""

    def forward(self, x, lengths):
        ends = lengths.to(torch.int64)
        ends.view(-1)[0] = 5
        return torch.stack([x[:n].sum() for n in ends.tolist()])


def test_lengths_that_were_changed_in_place_are_not_taken_for_the_input():
    given = [torch.randn(8), torch.tensor([2, 3], dtype=torch.int32)]
    with pytest.raises(CannotCapture):
        capture(Moved(), given, reads=True)


class Turned(nn.Module):
    """Copies a view of its input into a tensor of its own."""

    def forward(self, x):
        out = torch.empty(x.shape[1], x.shape[0])
        out.copy_(x.t())
        return out


class Scattered(nn.Module):
    """Writes parts of another type, which are all of a tensor."""

    def forward(self, x, wide):
        return x.slice_scatter(wide, 0, 0, 2).slice_scatter(x[2:] + 1.0, 0, 2, 4)


class OfEither(nn.Module):
    """Reads the first of two inputs."""

    def forward(self, first, second):
        return first + second.new_ones(first.tolist()[0])


def test_a_copy_of_a_view_is_no_part_of_the_input_and_lies_like_the_tensor_it_is_written_to():
    x = torch.randn(3, 5)
    program = program_of(Turned(), x)
    out = interpret(program, [x], {})
    assert out.is_contiguous() and out.data_ptr() != x.data_ptr()
    assert torch.equal(out, x.t())


def test_parts_of_another_type_are_converted():
    check(Scattered(), torch.randn(4), torch.randn(2, dtype=torch.float64))


def test_inputs_that_are_given_by_name_in_another_order_are_read_as_they_are():
    given = {"second": torch.tensor([3]), "first": torch.tensor([5])}
    assert capture(OfEither(), [], given, reads=True).read == {"first": [5]}


class Picked(nn.Module):
    """Reads lengths that it looks up at indices in a tensor."""

    def forward(self, x, lengths, at):
        return x[: lengths[at,].tolist()[0]].sum()


def test_lengths_that_are_looked_up_at_a_tensor_are_refused_in_words():
    given = [torch.randn(8), torch.tensor([2, 3]), torch.tensor([1, 1, 0])]
    with pytest.raises(CannotCapture, match="values in its tensors decide"):
        capture(Picked(), given, reads=True)


class Asserting(nn.Module):
    """Asserts that its input is positive."""

    def forward(self, x):
        torch._assert_async((x > 0).all(), "not positive")
        return torch.log(x)


def test_a_forward_that_asserts_is_refused():
    with pytest.raises(CannotCapture, match="asserts something of its tensors' values"):
        capture(Asserting(), [torch.rand(4)])
