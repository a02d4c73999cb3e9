"""What is allowed beyond the usual: of ill-conditioned results, and where inputs lie on borders."""

import pytest
import torch

from kernelwright.judge.compare.allowances import conditioned, lie_on_borders, useful_part
from kernelwright.judge.compare.outputs import Expected, compare, expect
from kernelwright.judge.refusal import WrongValues


def expected(own: torch.Tensor, exact: torch.Tensor) -> Expected:
    return expect([own], [exact], [8.0])


def test_few_numbers_that_jump_widen_nothing_for_the_others():
    x = torch.rand(64, 64) * 100
    exact = x.double().round()
    wanted = expected(exact.float(), exact)
    jumped = exact.clone()
    jumped[3, 5] += 1.0
    assert allowed_after(jumped, jumped, wanted) == wanted.allowed
    assert allowed_after(exact + 0.01, exact + 0.64, wanted) > wanted.allowed
    assert allowed_after(exact + 0.01, exact + 0.64, wanted, most=1e-3) == [1e-3]


@pytest.mark.parametrize("n_columns", [2, 16, 64])
def test_what_moves_no_farther_when_inputs_do_is_no_ill_conditioning(n_columns):
    """All of a product jumps where its inputs lie on a quantiser's borders."""
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    moved, further = exact + 1e-7, exact + 64e-7
    moved[:, :n_columns] += 0.1
    further[:, :n_columns] += 0.1
    wanted = expected(exact.float(), exact)
    assert allowed_after(moved, further, wanted)[0] < 1e-5


def test_the_root_of_what_is_zero_is_no_jump():
    exact = torch.rand(64, 64, dtype=torch.float64)
    wanted = expected(exact.float(), exact)
    assert allowed_after(exact + 1e-4, exact + 8e-4, wanted) > wanted.allowed


@pytest.mark.parametrize("share", [0.02, 1.0])
def test_inputs_lie_on_borders_where_much_jumps_as_far_as_the_reference_is_off(share):
    """Few numbers jump in any quantiser: those are asked about singly."""
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    step = 0.01 * (torch.arange(64 * 64).view(64, 64) < share * 64 * 64)
    wanted = expected((exact + step).float(), exact)

    def jumps_off(times):
        return [exact + times * 1e-7 - step], [16.0]

    def is_smooth(times):
        return [exact + times * step], [16.0]

    assert lie_on_borders(jumps_off, wanted, torch.float32) == (share == 1.0)
    assert not lie_on_borders(jumps_off, wanted, torch.bfloat16)
    assert not lie_on_borders(is_smooth, wanted, torch.float32)
    assert not lie_on_borders(lambda times: (None, []), wanted, torch.float32)


def allowed_after(moved, further, wanted, most=1.0):
    return conditioned([moved], [further], wanted, [16.0], most=most).allowed


def test_as_many_numbers_may_be_far_off_as_move_with_the_inputs_last_digits():
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    moved = exact.clone()
    moved[:8] += 1e-5
    further = exact + 64 * (moved - exact)
    wanted = conditioned([moved], [further], expected(exact.float(), exact), [16.0], most=1.0)
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
    assert useful_part(expect(own[1:], exact[1:], [8.0] * 2)) is None
