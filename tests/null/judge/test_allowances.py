"""The allowances beyond the usual, for ill-conditioned results."""

from dataclasses import replace

import pytest
import torch

from kernelwright.judge.compare.allowances import conditioned
from kernelwright.judge.compare.expected import Expected, expect, useful_part
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.refusal import WrongValues


def expected(own: torch.Tensor, exact: torch.Tensor) -> Expected:
    return expect([own], [exact], [8.0])


def test_few_numbers_that_jump_widen_nothing_for_the_others():
    x = torch.rand(64, 64) * 100
    exact = x.double().round()
    wanted = expected(exact.float(), exact)
    jumped = exact.clone()
    jumped[3, 5] += 1.0
    allowed = wanted.outputs[0].allowed
    assert allowed_after(jumped, jumped, wanted) == allowed
    assert allowed_after(exact + 0.01, exact + 0.64, wanted) > allowed
    assert allowed_after(exact + 0.01, exact + 0.64, wanted, most=1e-3) == 1e-3


@pytest.mark.parametrize("n_columns", [2, 16, 64])
def test_what_moves_no_farther_when_inputs_do_is_no_ill_conditioning(n_columns):
    """All of a product jumps where its inputs lie on a quantiser's borders."""
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    moved, further = exact + 1e-7, exact + 64e-7
    moved[:, :n_columns] += 0.1
    further[:, :n_columns] += 0.1
    wanted = expected(exact.float(), exact)
    assert allowed_after(moved, further, wanted) < 1e-5


def test_the_root_of_what_is_zero_is_no_jump():
    exact = torch.rand(64, 64, dtype=torch.float64)
    wanted = expected(exact.float(), exact)
    assert allowed_after(exact + 1e-4, exact + 8e-4, wanted) > wanted.outputs[0].allowed


def allowed_after(moved, further, wanted, most=1.0):
    return after(moved, further, wanted, most).outputs[0].allowed


def after(moved, further, wanted, most=1.0):
    (output,) = wanted.outputs
    return replace(wanted, outputs=(conditioned(output, moved, further, 16.0, most=most),))


def test_as_many_numbers_may_be_far_off_as_move_with_the_inputs_last_digits():
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    moved = exact.clone()
    moved[:8] += 1e-5
    further = exact + 64 * (moved - exact)
    wanted = after(moved, further, expected(exact.float(), exact))
    off = torch.zeros(64, 64)
    off[:16] = 1e-4
    compare([exact.float() + off], wanted)
    with pytest.raises(WrongValues, match=r"only 25.00% of them are ill-conditioned"):
        compare([exact.float() + 1e-4], wanted)


def test_what_is_nothing_but_rounding_hides_no_other_output():
    """As the mean of what has been normalised: float64 has another noise in place of zero."""
    x = torch.rand(64, 64, dtype=torch.float64) + 0.5
    noise, chosen = torch.rand(64, dtype=torch.float64) * 1e-8, x.argmax(-1)
    own, exact = [x.float(), noise.float(), chosen], [x, noise * 1e-8, chosen]
    wanted = useful_part(expect(own, exact, [8.0] * 3))
    assert wanted.reference_error < 1e-6
    assert compare([own[0], -own[1], (chosen + 1) % 64], wanted).error < 1e-6
    with pytest.raises(WrongValues, match="output 0"):
        compare([own[0] * 1.001, *own[1:]], wanted)
    assert not any(one.is_useful for one in expect(own[1:], exact[1:], [8.0] * 2).outputs)
