"""Inputs that are moved in their last digits: what hangs on them."""

import pytest
import torch

from kernelwright.judge.compare.expected import FACTOR, expect
from kernelwright.judge.reference.nudges import by_rounding, in_last_digits, nudged, nudges
from kernelwright.judge.reference.widened import run_in_float64


def test_two_equal_inputs_move_differently():
    """Moved alike they would leave their quotient, and a quantiser's borders, where they were."""
    generator = torch.Generator().manual_seed(0)
    scale = torch.rand(64, 64, generator=generator) + 0.5
    x = (torch.randint(0, 100, scale.shape, generator=generator) + 0.5) * scale

    def run(arguments):
        return [(arguments[0] / arguments[1]).round().to(torch.int8)]

    own, other = run([x, scale])[0], (x * (1 / scale)).round().to(torch.int8)
    wanted = nudged([run, run], [x, scale], expect([own], [own], [8.0]), zeros_too=False)
    loose = wanted.outputs[0].loose
    assert (own != other).any()
    assert not ((own != other) & ~loose).any()


@pytest.mark.parametrize(
    ("own_error", "dtype", "least", "most", "factor"),
    [
        (0.004, torch.bfloat16, 2e-3, 4e-3, FACTOR),  # it rounds to bfloat16 itself
        (1e-7, torch.bfloat16, 3e-8, 6e-8, 32.0),  # it widens at once: float32's last digit
        (1e-7, torch.float32, 3e-8, 6e-8, 32.0),
    ],
)
def test_narrow_inputs_move_by_what_the_reference_rounds_to(own_error, dtype, least, most, factor):
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0)).add(0.5).to(dtype)
    expected = expect([x.double() + own_error], [x.double()], [32.0])
    (moved,), factors = by_rounding(lambda given, _: given, [x], expected, [32.0])
    share = float((moved / x.double() - 1).abs().max())
    assert least < share <= most and factors == [factor]


def test_each_output_is_moved_by_what_it_is_computed_in():
    """Beside a result that is rounded to bfloat16, of the same inputs, one is in float32, and one
    in float64."""
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0)).add(0.5).bfloat16()
    own = [(x * x), x.float() * x.float(), x.double() * x.double()]
    exact = [x.double() * x.double()] * 3
    expected = expect(own, exact, [32.0] * 3)

    def run(given, _):
        return [given[0] * given[0]] * 3

    moved, factors = by_rounding(run, [x], expected, [32.0] * 3)
    shares = [float((m / e - 1).abs().max()) for m, e in zip(moved, exact, strict=True)]
    assert 2e-3 < shares[0] < 1e-2 and 3e-8 < shares[1] < 2e-7 and shares[2] < 1e-15
    assert factors == [FACTOR, 32.0, 32.0]


@pytest.mark.parametrize("hides", [1.0, -1e9, -torch.inf])
def test_what_a_mask_does_not_hide_stays_so(hides):
    mask = torch.zeros(64, 64)
    mask[:, 40:] = hides
    for given in (mask, mask[None].expand(3, 64, 64)):
        assert all(torch.equal(m == 0, given == 0) for (m,) in nudges([given], zeros_too=True))


def test_what_hides_does_not_tell_how_large_numbers_are():
    bias = torch.rand(64, 64)
    bias[:, :20], bias[:, 40:] = 0.0, -1e9
    *_, (moved,) = nudges([bias], zeros_too=True)
    assert 0 < float(moved[:, :20].abs().max()) < 1e-5


def test_exact_tensors_do_not_move():
    """A task compares it with numbers, which it would no longer be equal to."""
    x, labels = torch.randn(64, 8), torch.randint(0, 10, (64, 8)).float()
    signs = torch.randint(0, 2, (64, 8)) * 2.0 - 1
    given = [x, labels, signs]
    (moved, *exact), moved_weight = in_last_digits(given, torch.float32)
    assert bool((moved != x.double()).any())
    assert all(map(torch.equal, exact, (labels.double(), signs.double())))
    for some in nudges(given, zeros_too=False):
        assert all(map(torch.equal, some[1:], (labels.double(), signs.double())))
    assert torch.equal(moved_weight(labels), labels.double())
    assert bool((moved_weight(x) != x.double()).any())


def test_where_all_numbers_are_whole_they_are_moved():
    counts = torch.randint(0, 100, (64, 8)).float()
    (moved,), _ = in_last_digits([counts], torch.float32)
    assert bool((moved != counts.double()).any())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_are_moved_where_a_type_asked_for_by_name_is_another(dtype):
    """They were not, and a determinant that is zero but for rounding was refused."""
    layer = torch.nn.Linear(8, 8).to(dtype)
    _, change = in_last_digits([torch.rand(3)], torch.float32)
    moved = run_in_float64(layer, lambda twin: twin.weight.detach(), change=change)
    share = float((moved / layer.weight.double() - 1).abs().max())
    assert 3e-8 < share <= 6e-8
