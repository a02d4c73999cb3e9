"""A convolution as products of shifted rows: tiles of float16 are copied by descriptor, without
computing an address per element.

A tile of 128 by 128 in float32 is read from the L2 cache for every block of k; at 5 TB/s that
allows about 160 TFLOP/s on an H200, whatever the tensor cores could do. float16 has the same ten
bits of mantissa as TF32, at half the bytes and twice the rate, but lacks TF32's range: an image (as
a whole) and each row of weights are scaled to a magnitude that it holds, by powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import wrapped
from kernelwright.compiler.codegen.triton.body import tile_name
from kernelwright.compiler.codegen.triton.convolution import ConvolutionWriter, block_text
from kernelwright.compiler.codegen.triton.grid import Grid, grid_of
from kernelwright.compiler.codegen.triton.image import Image, image_name
from kernelwright.compiler.codegen.triton.kernel import launch_text
from kernelwright.compiler.ir.ir import Affine, Contraction, Load, Stretch, contiguous

_OWN = ("first", "part")
_IMAGE_TILE = 4096
"""Number of elements in a tile of the copy."""
_HALF_SCALE = """\
@triton.jit
def half_scale(largest):
    # One where float16 holds the values with all its bits; else what makes the largest 2^13 to 2^14
    exponent = (largest.to(tl.int32, bitcast=True) >> 23) & 255
    other = (tl.minimum(267 - exponent, 253) << 23).to(tl.float32, bitcast=True)
    return tl.where((exponent >= 122) & (exponent < 142), 1.0, other)
"""
_PADDED = """\
@triton.jit
def padded_tile(
    image_ptr, padded_ptr, scale, CHANNELS: tl.constexpr, ROW: tl.constexpr, D: tl.constexpr,
    H: tl.constexpr, W: tl.constexpr, PAD_D: tl.constexpr, PAD_H: tl.constexpr,
    PAD_W: tl.constexpr, WIDE_D: tl.constexpr, WIDE_H: tl.constexpr, WIDE_W: tl.constexpr,
    BLOCK_C: tl.constexpr, BLOCK: tl.constexpr,
):
    # (image, channel, place) to (image, padded place, channel), with zeros around; the largest
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    image = tl.program_id(2).to(tl.int64)
    x = place % WIDE_W - PAD_W
    y = place // WIDE_W % WIDE_H - PAD_H
    z = place // (WIDE_W * WIDE_H) - PAD_D
    is_inside = (x >= 0) & (x < W) & (y >= 0) & (y < H) & (z >= 0) & (z < D)
    live = (c < CHANNELS)[:, None] & is_inside[None, :]
    index = image * (CHANNELS * D * H * W) + c[:, None] * (D * H * W)
    value = tl.load(image_ptr + index + ((z * H + y) * W + x)[None, :], mask=live, other=0.0)
    to = (image * (WIDE_D * WIDE_H * WIDE_W) + place)[:, None] * ROW + c[None, :]
    live = (place < WIDE_D * WIDE_H * WIDE_W)[:, None] & (c < ROW)[None, :]
    tl.store(padded_ptr + to, (value * scale).to(padded_ptr.dtype.element_ty).trans(), mask=live)
    size = tl.abs(value)
    return tl.max(tl.where(size < float("inf"), size, 0.0))


@triton.jit
def padded_image(
    image_ptr, padded_ptr, largest_ptr, AGAIN: tl.constexpr, CHANNELS: tl.constexpr,
    ROW: tl.constexpr, D: tl.constexpr, H: tl.constexpr, W: tl.constexpr, PAD_D: tl.constexpr,
    PAD_H: tl.constexpr, PAD_W: tl.constexpr, WIDE_D: tl.constexpr, WIDE_H: tl.constexpr,
    WIDE_W: tl.constexpr, BLOCK_C: tl.constexpr, BLOCK: tl.constexpr,
):
    # First as the values are; again only where float16 does not hold them so
    if AGAIN:
        scale = half_scale(tl.load(largest_ptr))
        if scale != 1.0:
            padded_tile(
                image_ptr, padded_ptr, scale, CHANNELS, ROW, D, H, W, PAD_D, PAD_H, PAD_W,
                WIDE_D, WIDE_H, WIDE_W, BLOCK_C, BLOCK,
            )
    else:
        largest = padded_tile(
            image_ptr, padded_ptr, 1.0, CHANNELS, ROW, D, H, W, PAD_D, PAD_H, PAD_W,
            WIDE_D, WIDE_H, WIDE_W, BLOCK_C, BLOCK,
        )
        tl.atomic_max(largest_ptr, largest)
"""
_FACTORS = '''\
def half_factors(x):
    """By row: the power of two which, divided by, leaves the largest element at 2^13 to 2^14."""
    largest = torch.where(x.isfinite(), x.abs(), 0.0).amax(1)
    exponents = (torch.frexp(largest).exponent - 14).clamp(min=-126)
    return torch.ldexp(torch.ones_like(largest), exponents)
'''


def emit_shifted(step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``step`` in Triton under ``knobs``: block_m, block_n, block_k."""
    writer = _Writer(step, knobs, interpreted=interpreted)
    text = writer.text()
    launch = launch_text(step, writer.grid, writer.pointers.values(), writer.constants, knobs)
    dtype = "float32" if interpreted else "float16"
    derived = (_weights(step, writer, dtype), _image(step, writer.positions, dtype))
    return Launched(text, launch, derived)


class _Writer(ConvolutionWriter):
    """The writer of one convolution's text, with a row for each position of the padded image."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        grid = grid_of(step)
        assert grid is not None, "only offered where there is a grid"
        self.positions: Grid = grid
        block = int(knobs["block_k"])
        self.padded_width = math.ceil(grid.width / block) * block
        """Number of elements of k per tap, padded to whole blocks; the padding of the last block is
        multiplied by zeros."""
        super().__init__(step, {**knobs, "layout": "as is"}, interpreted=interpreted)
        self.image = Image(grid.channel, grid.taps, Affine(), grid.distance, is_copied=True)
        self.n_rows = grid.n_positions
        for name in _OWN:
            self.names.new(name)

    def _pointers(self) -> dict[str, str]:
        step, grid = self.step, self.positions
        image, weight = image_name(step), half_name(step)
        sizes = f"[{grid.n_positions}, {grid.width}], [{grid.aligned}, 1]"
        block_m, block_n, block_k = (self.block[x] for x in "mnk")
        named = {
            "image": f"TensorDescriptor({image}, {sizes}, [{block_m}, {block_k}])",
            "weight": f"TensorDescriptor.from_tensor({weight}, [{block_n}, {block_k}])",
            "largest_ptr": f"{image}_largest", "factor_ptr": f"{step.name}_factor",
        }  # fmt: skip
        body = [op.tensor for op in step.body if isinstance(op, Load)]
        return named | {tile_name(t): t.name for t in (*body, *step.writes)}

    def _rows(self, phases: int = 1) -> None:
        block = block_text("m", phases)
        self.lines.add(f"m = tile_m * {block} + tl.arange(0, {block})")
        self.lines.add(f"live_m = m < {self.n_rows * phases}")
        for number, (axis, far, steps) in enumerate(self.positions.rows):
            name = self.names.new(axis.name)
            text = "m" if far == 1 else f"m // {far * phases}"
            each = phases if far == 1 else 1
            self.lines.add(f"{name} = {text}" + (f" % {steps * each}" if number else ""))
            if axis.size < steps:
                self.lines.add(f"live_m = live_m & ({name} < {axis.size * each})")
            self.axis[axis.name] = name
            self.tile.masks[axis.name] = "live_m"

    def _starts(self) -> None:
        starts = ["tile_m * BLOCK_M"]
        for d, stretch in enumerate(self.step.stretches):
            far = self.positions.distance[stretch.tap]
            starts.append(f"({self.position[stretch.tap]} + {self.positions.before[d]}) * {far}")
        self.lines.add(f"first = ({' + '.join(starts)}).to(tl.int32)")

    def _reads_from(self, s: Stretch, row: str, start: str) -> None:
        self.position[s.tap] = start

    def _loop(self) -> None:
        n_taps, blocks = self._n_taps(), self.padded_width // self.block["k"]
        many = n_taps if blocks == 1 else f"{n_taps} * {blocks}"
        many = str(int(n_taps) * blocks) if n_taps.isdigit() else many
        self.lines.add(f"for step in range({many}):")
        self.lines.depth += 1
        self.lines.add(f"tap = step // {blocks}", f"part = step % {blocks} * BLOCK_K")
        self._taps()
        moves = [f"{self.axis[a.name]} * {self._step(a)}" for a in self.image.taps]
        row = " + ".join(["first", *moves])
        column = "(tile_n * BLOCK_N).to(tl.int32)"
        precision = ', input_precision="ieee"' if self.interpreted else ""
        self.lines.add(
            f"a = image.load([{row}, part])",
            f"b = weight.load([{column}, {self._tap_number()} * {self.padded_width} + part])",
            f"acc = tl.dot(a, b.T, acc{precision})",
        )
        self.lines.depth -= 1

    def _epilogue(self) -> None:
        self.lines.add(
            "acc *= tl.load(factor_ptr + n, mask=live_n, other=0.0)[None, :]",
            "acc *= 1.0 / half_scale(tl.load(largest_ptr))",
        )
        super()._epilogue()


def half_name(step: Contraction) -> str:
    """Return the name of the tensor that holds the weights as a matrix of float16."""
    return f"{step.name}_half"


def _weights(step: Contraction, writer: _Writer, dtype: str) -> Derived:
    """Return the statements that make the weights a matrix with a row per output channel: taps, the
    joined tap, channels."""
    grid, source = writer.positions, step.b.tensor.name
    joined = (grid.joined,) if grid.joined else ()
    axes = (*step.n, *grid.taps, *joined, grid.channel)
    sizes = tuple(axis.size for axis in axes)
    strides = tuple(step.b.index.coefficient(axis.name) for axis in axes)
    n, taps, width = size_of(step.n), size_of(grid.taps), writer.padded_width
    text = f"{source}.as_strided({sizes}, {strides})"
    if missing := grid.aligned - grid.channel.size:
        text = f"torch.nn.functional.pad({text}, (0, {missing}))"
    text = f"{text}.reshape({n}, {taps}, {grid.width})"
    if missing := width - grid.width:
        text = f"torch.nn.functional.pad({text}, (0, {missing}))"
    half = contiguous(half_name(step), (n, taps * width), dtype)
    factor = contiguous(f"{step.name}_factor", (n,), "float32")
    lines = [
        f"rows = {text}.reshape({n}, {taps * width})",
        f"{factor.name} = half_factors(rows)",
        f"{half.name} = (rows / {factor.name}[:, None]).to(torch.{dtype})",
    ]
    return Derived((half, factor), source, "\n".join(lines))


def _image(step: Contraction, grid: Grid, dtype: str) -> Derived:
    """Return the statements that copy the image with its padding; a row has all channels of a
    position."""
    tensor, name = step.a.tensor, image_name(step)
    largest, device = f"{name}_largest", f"device={step.a.tensor.name}.device"
    missing = 3 - len(grid.sizes)
    sizes, before = (1,) * missing + grid.sizes, (0,) * missing + grid.before
    padded = (1,) * missing + grid.padded
    block_c = min(64, max(8, 1 << (grid.aligned - 1).bit_length()))
    block = max(32, _IMAGE_TILE // block_c)
    blocks = (math.ceil(math.prod(padded) / block), math.ceil(grid.aligned / block_c), grid.images)
    named = {"CHANNELS": grid.channel.size, "ROW": grid.aligned}
    for words, values in (("D H W", sizes), ("PAD_D PAD_H PAD_W", before),
                          ("WIDE_D WIDE_H WIDE_W", padded)):  # fmt: skip
        named |= dict(zip(words.split(), values, strict=True))
    named |= {"BLOCK_C": block_c, "BLOCK": block}
    constants = [f"{key}={value}" for key, value in named.items()]
    n = grid.n_positions * grid.aligned + grid.width  # the last rows extend beyond their positions
    lines = [
        f"{largest} = torch.zeros(1, {device})",
        f"{name} = torch.empty({n}, dtype=torch.{dtype}, {device})",
    ]
    for again in (False, True):
        groups = [[tensor.name, name, largest], [f"AGAIN={again}", *constants]]
        lines.append(wrapped(f"padded_image[{blocks}](", groups, ")"))
    made = contiguous(name, (n,), dtype), contiguous(largest, (1,), "float32")
    return Derived(made, tensor.name, "\n".join(lines))


def shifted_kernels(derived: str) -> list[str]:
    """Return the functions that ``derived`` calls."""
    texts = {"padded_image[": f"{_HALF_SCALE}\n\n{_PADDED}", "half_factors(": _FACTORS}
    return [text for name, text in texts.items() if name in derived]
