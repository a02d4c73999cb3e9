"""The prelude's float32 functions: a few units in the last place, and torch's special cases."""

import math

import pytest
import torch
from tests.host.emit.running import run_emitted

from kernelwright.compiler.ir.ir import Affine, Axis, Compute, Kernel, Load, Store, contiguous

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38, -3e38, 88.8]
BOUNDS_ULP = {  # the largest error allowed, with a function's own range of inputs
    "exp": (1.0, -104, 89), "expm1": (2.0, -20, 89), "log": (1.0, 1e-38, 1e38),
    "log1p": (2.5, -0.9999, 50), "log2": (1.0, 1e-38, 1e38), "tanh": (3.0, -10, 10),
    "sigmoid": (2.5, -87, 30), "erf": (1.5, -5, 5), "sin": (1.0, -1e5, 1e5),
    "cos": (1.0, -1e5, 1e5), "sqrt": (0.51, 0, 1e38), "rsqrt": (1.51, 1e-38, 1e38),
}  # fmt: skip
UNARY = [*BOUNDS_ULP, "floor", "ceil", "round", "trunc", "sign", "relu", "reciprocal", "isnan",
         "isinf", "abs", "neg"]  # fmt: skip
BINARY = ["pow", "maximum", "minimum", "atan2", "fmod", "div"]


def pointwise(op: str, arguments: list[torch.Tensor], name: str) -> tuple[Kernel, dict]:
    n = arguments[0].numel()
    index = Affine.of({"i": 1})
    tensors = [contiguous(f"{name}_x{k}", (n,), "float32") for k in range(len(arguments))]
    loads = [Load(f"v{k}", tensor, index) for k, tensor in enumerate(tensors)]
    dtype = "bool" if op.startswith("is") else "float32"
    body = (
        *loads,
        Compute("result", op, tuple(load.name for load in loads), dtype),
        Store(contiguous(f"{name}_y", (n,), dtype), index, "result"),
    )
    memory = {t.name: a for t, a in zip(tensors, arguments, strict=True)}
    return Kernel(name, (Axis("i", n),), (), body), memory


def inputs(low: float, high: float) -> torch.Tensor:
    """Values spread evenly and, near zero, by magnitude; special ones at the end."""
    generator = torch.Generator().manual_seed(0)
    even = torch.rand(100_000, generator=generator, dtype=torch.float64) * (high - low) + low
    powers = 10 ** (torch.rand(50_000, generator=generator, dtype=torch.float64) * 76 - 38)
    small = torch.cat([powers, -powers])
    small = small[(small >= low) & (small <= high)]
    return torch.cat([even, small]).float()


@pytest.fixture(scope="module")
def results():
    """Every function, compiled once: by name, the input, torch's result and ours."""
    special = torch.tensor(SPECIAL)
    steps, memory, arguments = [], {}, {}
    for op in UNARY:
        _, low, high = BOUNDS_ULP.get(op, (0, -5, 5))
        arguments[op] = [torch.cat([inputs(low, high), special])]
    generator = torch.Generator().manual_seed(1)
    for op in BINARY:
        left = torch.randn(50_000, generator=generator) * 3
        right = torch.randn(50_000, generator=generator) * 3
        right[:5000] = right[:5000].round()
        if op == "pow":
            left[10_000:] = left[10_000:].abs() * 10
        pairs = torch.cartesian_prod(special, special)
        arguments[op] = [torch.cat([left, pairs[:, 0]]), torch.cat([right, pairs[:, 1]])]
    for op, values in arguments.items():
        kernel, given = pointwise(op, values, f"{op}_kernel")
        steps.append(kernel)
        memory |= given
    seen = run_emitted(steps, {}, memory)
    return {op: (values, seen[f"{op}_kernel_y"]) for op, values in arguments.items()}


def ulp_error(seen: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error in units of the last place of the exact result (normal results only)."""
    near = exact.float().abs()
    unit = (torch.nextafter(near, torch.tensor(math.inf)) - near).double()
    normal = (near > 1.2e-38) & (near < 3e38)
    return ((seen.double() - exact).abs() / unit)[normal].max().item()


@pytest.mark.parametrize("op", BOUNDS_ULP)
def test_error_is_a_few_ulp(op, results):
    x, seen = results[op][0][0][: -len(SPECIAL)], results[op][1][: -len(SPECIAL)]
    assert ulp_error(seen, getattr(torch, op)(x.double())) <= BOUNDS_ULP[op][0]


def test_pow_error(results):
    (x, y), seen = results["pow"]
    assert ulp_error(seen, torch.pow(x.double(), y.double())) <= 0.6


@pytest.mark.parametrize("op", [*UNARY, *BINARY])
def test_special_values_as_in_torch(op, results):
    arguments, seen = results[op]
    n = len(SPECIAL) ** len(arguments)
    tail, have = [argument[-n:] for argument in arguments], seen[-n:]
    if op in ("sin", "cos", "fmod"):  # not covered: huge arguments; torch's fmod of subnormals
        usual = [(v.abs() < 1e38) & ((v.abs() > 1e-38) | (v == 0)) | v.isinf() for v in tail]
        keep = usual[0] & usual[-1] | tail[0].isnan()
        tail, have = [v[keep] for v in tail], have[keep]
    want = getattr(torch, op)(*tail)
    if want.dtype == torch.bool:
        assert torch.equal(have, want)
        return
    assert torch.equal(have.isnan(), want.isnan()), list(zip(*tail, have, want, strict=True))
    assert torch.allclose(have, want, rtol=1e-6, atol=1e-44, equal_nan=True), list(
        zip(*tail, have, want, strict=True)
    )
