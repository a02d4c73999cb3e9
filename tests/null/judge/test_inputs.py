"""Distributions keep what a kernel may rely on, and change what it may not."""

from __future__ import annotations

import pytest
import torch
from tests.null.judge.perturbing import NAMES, transform

from kernelwright.judge.perturb.fixed import Fixed, find_fixed, renew
from kernelwright.judge.perturb.values import (
    CONDITION,
    VARIED,
    has_numbers,
    vary_numbers,
    with_specials,
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_shape_strides_and_dtype_are_kept(name, dtype):
    x = torch.rand(6, 8, 5).to(dtype).transpose(0, 1)
    (y,) = transform([x], name, 7)
    assert (y.shape, y.stride(), y.dtype) == (x.shape, x.stride(), x.dtype)
    assert not torch.equal(x, y)


@pytest.mark.parametrize("shape", [(48, 48), (3, 32, 32)])
def test_symmetric_matrices_become_ill_conditioned_and_stay_definite(shape):
    x = torch.randn(shape)
    x = x @ x.mT / shape[-1] + torch.eye(shape[-1])
    other, row = torch.rand(4, 6), torch.rand(6)
    y, scaled, same = transform([x, other, row], "ill_conditioned", 7)
    assert torch.equal(y, y.mT) and y.shape == x.shape and torch.equal(same, row)
    units = (scaled / other).mean(0)
    assert torch.allclose(scaled, other * units) and units.max() / units.min() > 9
    sizes = torch.linalg.eigvalsh(y.double())
    assert (sizes > 0).all() and torch.allclose(
        sizes[..., -1] / sizes[..., 0], torch.tensor(CONDITION).double(), rtol=0.01
    )


@pytest.mark.parametrize("name", NAMES)
def test_integers_masks_and_scalars_stay(name):
    given = [torch.arange(4), torch.tensor([True, False]), 3, "mean", [torch.arange(2), 0.5]]
    assert str(transform(given, name, 7)) == str(given)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_draws_the_same_inputs(name):
    x = torch.rand(16, 16)
    (one,), (two,) = transform([x], name, 1), transform([x], name, 1)
    assert torch.equal(one, two)


def test_integers_vary_if_nothing_else_in_a_call_is_new():
    x, mask = torch.randint(100, (9, 40)), torch.ones(9, dtype=torch.bool)
    fixed, warnings = find_fixed(lambda seed: [x, mask], lambda given: given[:1])
    (new, same), (other, _) = (renew([x, mask], fixed, seed) for seed in (1, 2))
    assert fixed.which == [True, False] and not warnings and torch.equal(mask, same)
    assert not torch.equal(x, new) and not torch.equal(new, other)
    beside, _ = find_fixed(lambda seed: [x, torch.full((3,), float(seed))], lambda given: given[:1])
    assert not any(beside.which)


def test_complex_numbers_that_are_the_same_in_every_draw_are_varied():
    x = torch.randn(9, 5, dtype=torch.complex64)
    fixed, _ = find_fixed(lambda seed: [x], lambda given: given)
    (new,) = renew([x], fixed, 1)
    assert fixed.which == [True] and 0 < float(((new - x) / x).abs().max()) <= VARIED * 1.001


def test_infinities_of_fixed_masks_stay():
    bias = torch.rand(64, 64) + 1
    bias[5, 7] = -torch.inf
    fixed, _ = find_fixed(lambda seed: [bias], lambda given: [given[0].exp()])
    (new,) = renew([bias], fixed, 1)
    assert torch.equal(new.isfinite(), bias.isfinite()) and not torch.equal(new, bias)


@pytest.mark.parametrize("kind", ["band", "triangle", "mask", "causal", "filled up"])
def test_zeros_of_filters_and_triangles_stay_in_place(kind):
    x = torch.randn(64, 64)
    if kind == "band":
        x = x.triu(-2).tril(2)
    elif kind == "triangle":
        x = x.tril()
    elif kind == "mask":
        x = (x[0] > -1).float()
    elif kind == "causal":
        x = x.triu(1).masked_fill(x.triu(1) != 0, -torch.inf)
    else:
        x[20:] = 0.0
    (new,) = renew([x], Fixed([True]), 1)
    assert torch.equal(new == 0, x == 0) and torch.equal(new.isfinite(), x.isfinite())


def test_equal_arguments_become_unequal_in_most_distributions():
    x = torch.randn(64, 64)
    for name in ("outliers", "sparse"):
        one, other = transform([x, x.clone()], name, 7)
        assert not torch.equal(one, other)


def test_gaps_between_the_numbers_of_a_slice_hold_zeros():
    x = torch.randn(64, 100)[:, :50]
    (y,) = transform([x], "small", 7)
    assert not y.as_strided((63, 50), (100, 1), 50).any()


def test_expanded_tensors_change_and_stay_expanded():
    x = torch.rand(8, 1, 16).expand(8, 5, 16)
    (y,) = transform([x], "small", 7)
    assert y.stride() == x.stride() and torch.equal(y, x * 1e-3)


def test_numbers_among_arguments_are_varied_wherever_they_are():
    given = [torch.ones(2), 0.5, 3, {"slope": 0.25, "flag": True}, (1.0, None)]
    found = vary_numbers(given, 7)
    assert has_numbers(given) and not has_numbers([torch.ones(2), 3, {"flag": True}])
    for one, other in ((found[1], 0.5), (found[3]["slope"], 0.25), (found[4][0], 1.0)):
        assert one != other and one == pytest.approx(other, rel=2 * VARIED)
    assert found[2] == 3 and found[3]["flag"] is True and found[4][1] is None
    assert abs(vary_numbers([0.0], 7)[0]) == VARIED


def test_slices_keep_their_strides_whatever_becomes_of_their_numbers():
    x = torch.randn(64, 100)[::2, 10:60]
    changed = [with_specials([x], 7), renew([x], Fixed([True]), 7)]
    assert all(y.stride() == x.stride() for (y,) in changed)


def test_complex_inputs_are_changed_in_both_parts_and_float64_keeps_its_digits():
    z = torch.randn(8, 6, dtype=torch.complex64)
    (changed,) = transform([z], "shifted", 1)
    assert changed.dtype == z.dtype and not torch.equal(changed.imag, z.imag)
    (y,) = transform([torch.rand(64, dtype=torch.float64)], "centred", 1)
    assert not torch.equal(y, y.float().double())


def test_fixed_inputs_are_varied_a_little():
    mask = torch.tensor([0.0, float("-inf"), 0.0])
    given = [torch.rand(3), [torch.ones(3), torch.arange(3)], mask]
    fixed, warnings = find_fixed(
        lambda seed: [torch.full((3,), seed / 2), *given[1:]], lambda given: [given[0]]
    )
    assert fixed.which == [False, True, False, True]
    assert not warnings
    one, two = (renew(given, fixed, seed) for seed in (1, 2))
    assert torch.equal(one[0], given[0]) and torch.equal(one[1][1], given[1][1])
    assert not torch.equal(one[1][0], two[1][0])
    assert torch.equal(one[2], mask)
    assert float((one[1][0] - 1).abs().max()) <= VARIED


def test_a_reason_can_tell_which_inputs_were_varied():
    assert Fixed([False, True, False]).text().startswith("with argument 1, the same in every draw")
    assert "argument 0 and 2" in Fixed([True, False, True]).text()
    assert Fixed([False]).text() == "" == Fixed([]).text()


def sums_to_two(x):
    assert abs(float(x.sum()) - 2) < 14e-3
    return x


TABLES = {
    "some of its variations": (torch.tensor([0.2, 0.4, 0.6, 0.8]), sums_to_two),
    "indices": (
        torch.tensor([0.0, 2.0, 1.0]),
        lambda x: torch.arange(3.0)[x.long() + (x % 1 > 0) * 9],
    ),
    "cosines": (torch.ones(3), torch.acos),
}


@pytest.mark.parametrize("name", TABLES)
def test_inputs_stay_if_the_reference_accepts_no_others(name):
    x, function = TABLES[name]
    is_fixed, (warning,) = find_fixed(lambda seed: [x], lambda given: [function(given[0])])
    assert "takes no others" in warning.detail
    (same,) = renew([x], is_fixed, 1)
    assert torch.equal(same, x)


def test_some_slices_of_every_axis_are_zero_or_negative():
    x = torch.rand(32, 8, 16) + 0.1
    (empty,), (below,) = (transform([x], name, 1) for name in ("empty", "below"))
    for axis in range(3):
        others = [one for one in range(3) if one != axis]
        assert 0 < int((empty == 0).all(others).sum()) < x.shape[axis]
        assert 0 < int((below < -10).all(others).sum()) < x.shape[axis]
    assert torch.equal(empty[empty != 0], x[empty != 0])


def test_a_fixed_input_that_must_not_change_keeps_no_other_from_changing():
    """Else all are known by heart, where an arc cosine takes nothing beyond one."""
    cosines, x, y = torch.tensor([-1.0, 0.3, 1.0]), torch.randn(8), torch.randn(8, 8)
    fixed, (warning,) = find_fixed(lambda seed: [x, cosines, y], lambda given: [given[1].acos()])
    assert fixed.which == [True, False, True] and warning.detail.startswith("some inputs")
    given = renew([x, cosines, y], fixed, 1)
    assert torch.equal(given[1], cosines) and not torch.equal(given[2], y)
    words = torch.randint(100, (9, 40))
    fixed, (warning,) = find_fixed(lambda seed: [cosines, words], lambda given: [given[0].acos()])
    assert fixed.which == [False, True] and warning.detail.startswith("some inputs")
