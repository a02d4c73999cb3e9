"""The numerics: which errors are blamed on a candidate, and which are not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.judge.compare.expected import Expected, expect
from kernelwright.judge.compare.growth import floor_error, summation_growth
from kernelwright.judge.compare.measures import (
    are_alike,
    as_real,
    error_of,
    largest_size,
    row_scale,
)
from kernelwright.judge.compare.outputs import are_near, compare
from kernelwright.judge.compare.specials import require_specials
from kernelwright.judge.reference.nudges import nudged
from kernelwright.judge.refusal import WrongValues


def expected(own: torch.Tensor, exact: torch.Tensor, growth_ulp: float = 8.0) -> Expected:
    return expect([own], [exact], [growth_ulp])


def with_first(wanted: Expected, **changes: object) -> Expected:
    return replace(wanted, outputs=(replace(wanted.outputs[0], **changes),))


def loose(run, arguments, *, zeros_too) -> torch.Tensor:
    """Where the first result of a reference depends on the last digits of its arguments."""
    (own,) = run(arguments)
    return nudged([run, run], arguments, expected(own, own), zeros_too=zeros_too).outputs[0].loose


@pytest.fixture
def product():
    draw = torch.Generator().manual_seed(0)
    a = torch.randn(96, 512, generator=draw)
    b = torch.randn(512, 80, generator=draw)
    return a, b, expected(a @ b, a.double() @ b.double(), summation_growth(512, equal_terms=False))


def test_another_order_of_summation_is_accepted(product):
    a, b, wanted = product
    blocks = sum(x @ y for x, y in zip(a.split(32, 1), b.split(32, 0), strict=True))
    in_order = torch.zeros(96, 80)
    for k in range(512):
        in_order += a[:, k : k + 1] * b[k]
    compare([blocks], wanted)
    compare([in_order], wanted)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_product_of_lower_precision_is_refused(product, dtype):
    a, b, wanted = product
    with pytest.raises(WrongValues, match="of its row's largest value"):
        compare([a.to(dtype).float() @ b.to(dtype).float()], wanted)


def test_one_wrong_element_is_found_and_named(product):
    a, b, wanted = product
    wrong = a @ b
    wrong[95, 79] += 0.01
    with pytest.raises(WrongValues, match=r"worst at \[95, 79\]"):
        compare([wrong], wanted)


@pytest.mark.parametrize("shape", [(700, 500), (3, 1, 200_000), (400_000,), (5, 300_000, 1)])
def test_large_outputs_are_compared_whole(shape):
    exact = torch.rand(shape, dtype=torch.float64) + 1
    last = tuple(n - 1 for n in shape)
    wrong = exact.float()
    compare([wrong], expected(exact.float(), exact))
    wrong[last] += 0.5
    with pytest.raises(WrongValues, match=re.escape(f"worst at {list(last)}")):
        compare([wrong], expected(exact.float(), exact))


def test_zeros_do_not_hide_in_a_small_output():
    exact = torch.rand(8, 64, dtype=torch.float64) * 1e-8
    with pytest.raises(WrongValues):
        compare([torch.zeros(8, 64)], expected(exact.float(), exact))


def test_a_small_row_does_not_hide_behind_a_large_one():
    exact = torch.rand(8, 64, dtype=torch.float64)
    exact[3] *= 1e-4
    wrong = exact.float()
    wrong[3] = 0
    with pytest.raises(WrongValues):
        compare([wrong], expected(exact.float(), exact))


def test_nan_in_place_of_a_number_is_refused():
    exact = torch.rand(4, 4, dtype=torch.float64)
    wrong = exact.float()
    wrong[0, 0] = float("nan")
    with pytest.raises(WrongValues):
        compare([wrong], expected(exact.float(), exact))


def test_another_treatment_of_nan_is_a_warning():
    exact = torch.rand(4, 4, dtype=torch.float64)
    exact[0, 0] = float("nan")
    own = exact.float()
    other = own.clone()
    other[0, 0] = 0.0
    assert "NaN" in compare([other], expected(own, exact)).warnings[0].detail


def test_integers_must_agree_exactly():
    exact = torch.arange(12)
    wrong = exact.clone()
    wrong[5] += 1
    compare([exact.clone()], expected(exact, exact))
    with pytest.raises(WrongValues, match="first at"):
        compare([wrong], expected(exact, exact))


def test_what_is_true_by_another_bit_is_no_boolean():
    bits = torch.tensor([0, 6, 1, 2], dtype=torch.uint8)
    value, own = bits.view(torch.bool), bits.bool()
    with pytest.raises(WrongValues, match="6 instead of 1"):
        compare([value], expected(own, own))
    assert not are_near([value], [own], expected(own, own))


@given(st.floats(1e-30, 1e30), st.integers(0, 2**31))
def test_the_error_does_not_depend_on_the_unit(unit, seed):
    draw = torch.Generator().manual_seed(seed)
    exact = torch.randn(6, 16, dtype=torch.float64, generator=draw)
    value = exact + 1e-5 * torch.randn(6, 16, dtype=torch.float64, generator=draw)
    plain, scaled = error_of(value, exact), error_of(value * unit, exact * unit)
    assert scaled == pytest.approx(plain, rel=1e-6)


@given(st.integers(0, 2**31))
def test_no_row_is_measured_on_less_than_its_largest_value(seed):
    exact = torch.randn(5, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert (row_scale(exact) >= exact.abs().amax(-1, keepdim=True)).all()


def test_the_floor_grows_with_the_terms_and_has_a_cap():
    floors = [
        floor_error(torch.float32, summation_growth(n, equal_terms=False))
        for n in (1, 100, 10_000, 10_000_000_000)
    ]
    assert floors == sorted(floors)
    assert floors[-1] < 2e-5


@pytest.mark.parametrize(("n", "term"), [(4096, 0.9893803), (8192, 0.94067365)])
def test_a_plain_loop_over_equal_numbers_is_sound_and_float16_is_not(n, term):
    terms = torch.full((n,), term)
    loop = terms.numpy().cumsum(dtype="float32")[-1]  # one number after the other
    growth = summation_growth(n, equal_terms=True, has_products=False)
    allowed = floor_error(torch.float32, growth)
    assert abs(float(loop / terms.double().sum()) - 1) < allowed
    constant = torch.tensor(1 + 127.43125 / 128)  # as of the judge's inputs
    assert allowed < abs(float(constant.half() / constant) - 1)


def test_float64_is_held_to_its_own_precision():
    a, b = torch.rand(64, 200).double(), torch.randn(200, 48).double()
    wanted = expected(a @ b, a @ b, summation_growth(200, equal_terms=False))
    compare([sum(x @ y for x, y in zip(a.split(8, 1), b.split(8, 0), strict=True))], wanted)
    with pytest.raises(WrongValues, match="of its row's largest value"):
        compare([(a.float() @ b.float()).double()], wanted)


def test_where_outliers_are_errors_are_measured_on_the_largest_value():
    exact = torch.tensor([[1.0, 2.0], [3000.0, 1.0]]).double()
    value = exact.float() + torch.tensor([[1e-3, 0.0], [0.0, 0.0]])
    with pytest.raises(WrongValues):
        compare([value], expected(exact.float(), exact))
    compare([value], expect([exact.float()], [exact], [8.0], by_row=False))
    assert float(largest_size(torch.zeros(3, 0))) == 1.0


def test_complex_results_are_compared_by_their_parts():
    x = torch.randn(12, 64)
    own, exact = torch.fft.rfft(x), torch.fft.rfft(x.double())
    wanted = expected(own, exact)
    compare([torch.fft.fft(x)[:, :33]], wanted)
    with pytest.raises(WrongValues):
        compare([torch.complex(own.real, torch.zeros(12, 33))], wanted)


def test_one_complex_number_is_compared_too():
    one = torch.tensor(1 + 2j)
    assert [part.tolist() for part in as_real([one, one.conj()])] == [[1, 2], [1, -2]]
    wanted = expected(one, one.to(torch.complex128))
    compare([one.clone()], wanted)
    with pytest.raises(WrongValues):
        compare([one.conj()], wanted)


def test_whole_numbers_may_differ_only_where_rounding_decides():
    own = torch.tensor([3, 1, 4, 1])
    ties = torch.tensor([False, True, False, True])
    wanted = replace(with_first(expected(own, own), loose=ties), loose_share=0.25)
    assert "last digits" in compare([torch.tensor([3, 2, 4, 1])], wanted).warnings[0].detail
    with pytest.raises(WrongValues, match=r"25\.000%"):  # elsewhere
        compare([torch.tensor([2, 1, 4, 1])], wanted)
    with pytest.raises(WrongValues, match=r"50\.000%"):  # too often
        compare([torch.tensor([3, 2, 4, 2])], wanted)


def test_more_whole_numbers_may_lie_on_borders_than_nudges_of_other_inputs_show():
    own = torch.arange(100)
    wanted = with_first(expected(own, own), loose=own < 8)
    compare([torch.where(own < 10, -1, own)], wanted)
    with pytest.raises(WrongValues, match="differ"):
        compare([torch.where(own < 11, -1, own)], wanted)
    with pytest.raises(WrongValues, match="differ"):  # the task's own inputs
        compare([torch.where(own < 10, -1, own)], replace(wanted, loose_share=0.5))


def test_infinities_are_where_both_precisions_have_them():
    exact = torch.tensor([[-torch.inf, 1.0, torch.inf, torch.nan]], dtype=torch.float64)
    own = torch.tensor([[-torch.inf, 1.0, torch.inf, 7.0]])
    wanted = expected(own, exact)
    require_specials([own.clone()], wanted)
    require_specials([torch.tensor([[-torch.inf, 1.0, torch.inf, torch.nan]])], wanted)
    for place, value in ((0, 5.0), (2, -torch.inf)):
        other = own.clone()
        other[0, place] = value
        with pytest.raises(WrongValues, match=r"instead of -?inf"):
            require_specials([other], wanted)


@pytest.mark.parametrize("right", [torch.inf, torch.nan])
def test_what_overflows_in_the_reference_is_not_just_anything(right):
    exact = torch.tensor([[1.0, 1e50, 1e60], [1.0, 2.0, 3.0]], dtype=torch.float64)
    own = exact.float()
    own[1, 1] = torch.nan  # something between overflowed
    wanted = expected(own, exact)
    require_specials([own.clone()], wanted)
    for place, values in {(0, 1): (0.0, 3e38), (1, 1): (0.0, 2.1)}.items():
        other = own.clone()
        other[place] = right
        require_specials([other], wanted)
        for value in values:
            other[place] = value
            with pytest.raises(WrongValues, match="instead of"):
                require_specials([other], wanted)
    own[1, 1] = 2.0
    require_specials([own], wanted)


def test_only_as_many_numbers_are_far_off_as_the_reference_has():
    exact = torch.rand(64, 64, dtype=torch.float64) + 0.5
    own = exact.float() + 1e-3 * torch.eye(64)
    wanted = expected(own, exact)
    compare([exact.float() + 2e-3 * torch.eye(64)], wanted)
    with pytest.raises(WrongValues, match=r"only 3.12% of them are ill-conditioned"):
        compare([own + 1e-4], wanted)


def test_a_step_on_a_border_may_go_the_other_way_and_no_further():
    x = torch.tensor([[0.5, 1.2, 2.5, 3.1] * 100])  # rounds at 0.5 and 2.5
    exact = x.double().round()
    wanted = replace(expected(exact.float(), exact), loose_share=0.005)
    beyond = exact.float()
    beyond[0, 0] = 1.0  # instead of 0
    with pytest.raises(WrongValues) as wrong:
        compare([beyond], wanted)
    assert wrong.value.is_little
    runs = [lambda given: [given[0].round()]] * 2
    wanted = nudged(runs, [x], wanted, zeros_too=False)
    assert "last digits" in compare([beyond], wanted).warnings[0].detail
    for place, value in ((1, 2.0), (0, 2.0)):  # no border; two steps
        farther = beyond.clone()
        farther[0, place] = value
        with pytest.raises(WrongValues):
            compare([farther], wanted)
    beyond[0, ::4] = 1.0  # too often
    with pytest.raises(WrongValues) as wrong:
        compare([beyond], wanted)
    assert not wrong.value.is_little


def test_ties_are_found_by_moving_the_inputs():
    x = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.0]])

    def places(zeros_too):
        run = lambda given: [given[0].argmax(1)]  # noqa: E731
        return loose(run, [x], zeros_too=zeros_too).tolist()

    assert places(False) == [True, False, False]
    assert places(True) == [True, False, True]


def test_where_few_of_many_ties_are_seen_all_of_their_row_are_ties():
    x = torch.zeros(2, 200)
    x[:, :9] = torch.arange(1.0, 10.0)
    x[1, 9:] = -torch.arange(191.0)

    def run(given):
        chosen = torch.zeros(2, 200, dtype=torch.bool)
        return [chosen.scatter(1, given[0].topk(10, dim=1).indices, True)]

    found = loose(run, [x], zeros_too=True)
    assert bool(found[0].all()) and not bool(found[1].any())


def test_a_whole_number_that_float64_has_is_right():
    own, exact = torch.tensor([3, 1, 4]), torch.tensor([3, 2, 4])
    for value in (own, exact):
        assert compare([value], expected(own, exact)).warnings == ()
    with pytest.raises(WrongValues, match="at \\[0\\]"):
        compare([own + 1], expected(own, exact))


def test_runs_that_add_in_another_order_are_alike_and_random_ones_are_not():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(64, 1000, generator=draw)
    one = x.sum(-1, keepdim=True) - x.double().sum(-1, keepdim=True).float() + 1e-7
    one = torch.cat([one, torch.ones(64, 1)], -1)
    assert are_alike(one, one + 1e-6 * torch.randn(64, 2, generator=draw))
    assert not are_alike(one, one * (torch.rand(64, 2, generator=draw) > 0.1))
    half = x.bfloat16()
    added = half.sum(-1), half.flip(-1).cumsum(-1)[:, -1]  # the second rounds every sum
    assert are_alike(*added) and not are_alike(half, half * (x > -1))
    whole = torch.arange(9)
    assert are_alike(whole, whole.clone()) and not are_alike(whole, whole.flip(0))


def test_whole_numbers_on_a_border_are_all_found():
    """A kernel that multiplies by the reciprocal falls to the other side of any of them."""
    x = torch.cat([torch.arange(400) % 120 + 0.5, torch.tensor([1.0])])

    def run(given):
        return [(given[0] / given[0][-1:]).round().to(torch.int64)]

    found = loose(run, [x], zeros_too=False)
    assert float(found[:-1].float().mean()) > 0.99 and not bool(found[-1])


def test_numbers_that_look_alike_are_told_to_the_last_digit():
    exact = torch.rand(8, 8, dtype=torch.float64) + 1
    with pytest.raises(WrongValues, match=r"worst at .*: \d\.\d{12,} instead of \d\.\d{12,};"):
        compare([exact + 1e-12], expected(exact, exact))


def test_what_is_no_number_where_ties_decide_is_told():
    exact = torch.rand(8, 8, dtype=torch.float64)
    own = expected(exact.float(), exact)
    tied = with_first(own, allowed=torch.inf, beyond=1.0)
    for value in (torch.nan, torch.inf):
        given = exact.float().index_fill(0, torch.tensor(2), value)
        (warned,) = compare([given], tied).warnings
        assert warned.detail == "the output is not finite where the reference is"
        with pytest.raises(WrongValues, match=r"not finite where the reference is, at \[2, 0\]"):
            compare([given], own)
