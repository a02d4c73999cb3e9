"""Convolutions as products of matrices are the library's but for rounding in float64."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernelwright.judge.reference import products
from kernelwright.judge.reference.products import ConvolutionsByProducts, quick_convolutions

ORDINARY = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def random(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def agree(run) -> None:
    """``run`` gives the same with the mode as without."""
    plain = run()
    with ConvolutionsByProducts():
        mine = run()
    assert mine.shape == plain.shape
    assert torch.allclose(mine, plain, rtol=1e-12, atol=1e-12)


def per_axis(draw, n: int, low: int, high: int) -> tuple[int, ...]:
    return tuple(draw(st.integers(low, high)) for _ in range(n))


@st.composite
def cases(draw):
    n = draw(st.integers(1, 3))
    return {
        "size": per_axis(draw, n, 1, 6),
        "kernel": per_axis(draw, n, 1, 3),
        "stride": per_axis(draw, n, 1, 4),
        "padding": per_axis(draw, n, 0, 3),
        "dilation": per_axis(draw, n, 1, 3),
        "groups": draw(st.sampled_from([1, 2, 4])),
        "has_bias": draw(st.booleans()),
    }


@settings(max_examples=150)
@given(cases(), st.data())
def test_transposed(case, data):
    n, groups = len(case["size"]), case["groups"]
    limits = map(max, case["stride"], case["dilation"])
    extra = tuple(data.draw(st.integers(0, limit - 1)) for limit in limits)
    rows = zip(case["size"], case["kernel"], case["stride"], strict=True)
    sizes = [
        (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + more
        for (size, kernel, stride), padding, dilation, more in zip(
            rows, case["padding"], case["dilation"], extra, strict=True
        )
    ]
    assume(min(sizes) > 0)
    x, weight = random(2, 4, *case["size"]), random(4, 3, *case["kernel"])
    bias = random(3 * groups) if case["has_bias"] else None
    how = (case["stride"], case["padding"], extra, groups, case["dilation"])
    agree(lambda: TRANSPOSED[n](x, weight, bias, *how))


@settings(max_examples=100)
@given(cases())
def test_ordinary(case):
    n = len(case["size"])
    rows = zip(case["size"], case["padding"], case["dilation"], case["kernel"], strict=True)
    assume(all(s + 2 * p >= d * (k - 1) + 1 for s, p, d, k in rows))
    x, weight = random(2, 16, *case["size"]), random(3, 16, *case["kernel"])
    bias = random(3) if case["has_bias"] else None
    how = (case["stride"], case["padding"], case["dilation"])
    agree(lambda: ORDINARY[n](x, weight, bias, *how))


@pytest.mark.parametrize("most_bytes", [1, 3000, 20000])
def test_in_parts_where_memory_is_scarce(most_bytes, monkeypatch):
    monkeypatch.setattr(products, "MOST_BYTES", most_bytes)
    x = random(3, 16, 9, 7)
    agree(lambda: F.conv2d(x, random(5, 16, 3, 2), None, (2, 1), (1, 0)))
    agree(lambda: F.conv_transpose2d(x, random(16, 5, 3, 2), None, (2, 1), (1, 0)))


@pytest.mark.parametrize(
    "run",
    [
        lambda t: F.conv2d(random(2, 3, 5, 5).to(t), random(4, 3, 3, 3).to(t)),
        lambda t: F.conv2d(random(16, 5, 5).to(t), random(4, 16, 3, 3).to(t)),
        lambda t: F.conv2d(random(2, 32, 5, 5).to(t), random(4, 16, 3, 3).to(t), groups=2),
        lambda t: torch.nn.ConvTranspose2d(4, 3, 3, dtype=t)(random(4, 5, 5).to(t)),
        lambda t: torch.nn.Conv1d(16, 3, 3, padding="same", dtype=t)(random(2, 16, 5).to(t)),
        lambda t: torch.nn.Conv1d(16, 3, 3, padding=1, padding_mode="circular", dtype=t)(
            random(2, 16, 5).to(t)
        ),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@torch.no_grad()
def test_other_calls_come_out_the_same(run, dtype):
    def again():
        torch.manual_seed(0)
        return run(dtype)

    plain = again()
    with ConvolutionsByProducts():
        mine = again()
    torch.testing.assert_close(mine, plain)
    if dtype is torch.float32:
        assert torch.equal(mine, plain)


def test_only_on_a_gpu():
    assert isinstance(quick_convolutions("cuda:0"), ConvolutionsByProducts)
    assert not isinstance(quick_convolutions("cpu"), ConvolutionsByProducts)
