"""What narrow results are typically off by."""

import pytest
import torch

from kernelwright.judge.compare.expected import expect
from kernelwright.judge.compare.outputs import compare
from kernelwright.judge.refusal import WrongValues


def test_narrow_results_are_no_more_off_everywhere_than_rounded_now_and_then():
    x = torch.randn(256, 256, generator=torch.Generator().manual_seed(0)).bfloat16()
    exact = torch.nn.functional.gelu(x.double())
    wanted = expect([torch.nn.functional.gelu(x)], [exact], [8.0])
    compare([x * 0.5 * (1 + torch.erf(x * 0.70710678))], wanted)  # rounded at every step
    with pytest.raises(WrongValues, match=r"typically off by .*, 6.* times as much"):
        compare([(x.float() * torch.sigmoid(1.702 * x.float())).bfloat16()], wanted)
    wide = expect([torch.nn.functional.gelu(x.float())], [exact], [8.0])
    assert wide.outputs[0].typical == 0.0


def test_narrow_results_of_one_row_are_no_more_off_either():
    draw = torch.Generator().manual_seed(0)
    exact, weight = (torch.randn(n, 16, 32, generator=draw).bfloat16().double() for n in (1, 300))
    exact, value = (
        x.flatten(1) @ y.flatten(1).mT
        for x, y in ((exact, weight), map(rounded_to_eight_bits, (exact, weight)))
    )
    wanted = expect([exact.bfloat16()], [exact], [8.0])
    compare([exact.float().bfloat16()], wanted)
    with pytest.raises(WrongValues, match="typically off"):
        compare([value.bfloat16()], wanted)


def rounded_to_eight_bits(x):
    steps = x.abs().amax(-1, keepdim=True) / 127
    return (x / steps).round() * steps


@pytest.mark.parametrize("widened", [False, True])
def test_small_rows_of_narrow_results_count_like_large_ones(widened):
    draw = torch.Generator().manual_seed(0)
    exact = torch.randn(256, 256, generator=draw, dtype=torch.float64)
    exact[:16] *= 1000
    own, value = exact.bfloat16(), exact.bfloat16()
    value[16:] = rounded_to_eight_bits(exact[16:] * 1.004).bfloat16()
    if widened:
        own, value = own.float(), value.float()
    wanted = expect([own], [exact], [8.0], narrow=torch.bfloat16)
    compare([exact.bfloat16().to(own.dtype)], wanted)
    with pytest.raises(WrongValues, match="typically off"):
        compare([value], wanted)


def test_what_was_widened_says_nothing_where_few_numbers_are_off():
    exact = torch.randn(256, 256, dtype=torch.float64)
    own = exact.float()
    own[0, 0] += 0.01
    assert expect([own], [exact], [8.0], narrow=torch.bfloat16).outputs[0].typical == 0.0


def test_a_few_numbers_without_digits_do_not_hide_that_all_others_have_them():
    draw = torch.Generator().manual_seed(0)
    exact = torch.randn(64, 64, generator=draw, dtype=torch.float64)
    own = (exact * (1 + 0.01 * torch.randn(64, 64, generator=draw))).bfloat16()
    own[0, 0] += 2.0
    wanted = expect([own], [exact], [8.0])
    assert wanted.reference_error > 0.25 and wanted.is_useful
    compare([exact.bfloat16()], wanted)
    for wrong in (torch.zeros_like(own), own.roll(1, 0), own * 1.2):
        with pytest.raises(WrongValues):
            compare([wrong], wanted)
    nonsense = torch.randn(64, 64, generator=draw).bfloat16()
    assert not expect([nonsense], [exact], [8.0]).is_useful
    assert not expect([own.float()], [exact], [8.0]).is_useful  # float32 has digits everywhere
