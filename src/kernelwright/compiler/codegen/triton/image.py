"""The layout in memory of a convolution's image and weights while its kernel runs.

``as is`` leaves the image as the step before wrote it. ``last`` makes a channels-last copy, so that
the channels that a tap needs are contiguous, 16 bytes per load; the copy is rounded to TF32 where
that is wanted. The weights become a matrix with a row per output channel: taps, then channels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kernelwright.compiler.codegen.base import Derived
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import allocation
from kernelwright.compiler.codegen.gpu.names import wrapped
from kernelwright.compiler.ir.ir import Affine, Axis, Contraction, Tensor, contiguous

_TILE = 4096
"""Number of elements in a tile that is transposed."""
_LAST = """\
@triton.jit
def channels_last(
    image_ptr, last_ptr, CHANNELS: tl.constexpr, SIZE: tl.constexpr, BLOCK_C: tl.constexpr,
    BLOCK: tl.constexpr, ROUNDED: tl.constexpr,
):
    # (image, channel, place) to (image, place, channel), rounded to TF32 where that is wanted
    c = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    image = tl.program_id(2).to(tl.int64) * (CHANNELS * SIZE)
    live = (c < CHANNELS)[:, None] & (place < SIZE)[None, :]
    x = tl.load(image_ptr + image + c[:, None] * SIZE + place[None, :], mask=live)
    if ROUNDED:
        bits = ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)
        x = tl.where(x == x, bits, x)
    to = last_ptr + image + place[:, None] * CHANNELS + c[None, :]
    tl.store(to, x.trans(), mask=live.trans())
"""
_ROUNDED_WEIGHT = '''\
def rounded_to_tf32(x):
    """``x`` with the 10 bits of mantissa that tensor cores read; they would cut the others off."""
    bits = ((x.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)
    return torch.where(x == x, bits, x)
'''
_PARTS_OF_WEIGHT = '''\
def in_three(x):
    """``x`` as a sum of three bfloat16 tensors, which hold all 24 bits."""
    high = x.bfloat16()
    rest = x - high.float()
    middle = rest.bfloat16()
    return torch.stack((high, middle, (rest - middle.float()).bfloat16()))
'''


@dataclass(frozen=True)
class Image:
    """The operand ``a`` of a convolution as its kernel reads it."""

    channel: Axis | None
    """The axis of input channels; None if there is only one channel."""
    taps: tuple[Axis, ...]
    """The axes of the kernel's taps."""
    start: Affine
    """Index over the axes of rows and groups that are not stretched."""
    coefficient: dict[str, int]
    """Axis of k → distance of neighbours in memory; for a stretched tap, the number of
    positions."""
    is_copied: bool


def image_of(step: Contraction, layout: str) -> Image:
    """Return the image of ``step`` in ``layout``, one of ``layouts``."""
    tensor, index = step.a.tensor, step.a.index
    is_copied = layout == "last"
    stretched = {s.tap: s.out for s in step.stretches}
    channel = next(
        (a for a in step.k
         if a.name not in stretched and index.coefficient(a.name) == tensor.strides[1]),
        None,
    )  # fmt: skip
    taps = tuple(axis for axis in step.k if axis != channel)
    outs = set(stretched.values())

    def moved(distance: int) -> int:
        return _moved(distance, tensor) if is_copied else distance

    inside = {axis.name for axis in step.k} | outs
    start = {a: moved(c) for a, c in index.terms if a not in inside}
    coefficient = {
        axis.name: moved(index.coefficient(stretched.get(axis.name, axis.name))) for axis in step.k
    }
    offset = moved(index.offset)
    return Image(channel, taps, Affine.of(start, offset), coefficient, is_copied)


def _moved(distance: int, tensor: Tensor) -> int:
    """Return a distance in memory after channels have been moved last."""
    channels, size = tensor.shape[1], math.prod(tensor.shape[2:])
    if distance % (channels * size) == 0:
        return distance
    return distance // size if distance % size == 0 else distance * channels


def layouts(step: Contraction) -> tuple[str, ...]:
    """Return the layouts in which the step can read its image; empty if it is not a convolution
    that this emitter writes."""
    a, b = step.a, step.b
    simple = not (a.gather or b.bounds or b.gather or b.index.offset) and len(step.batch) < 2
    tensors = (a.tensor, b.tensor)
    if not simple or any(t.dtype != "float32" for t in tensors) or len(a.tensor.shape) < 3:
        return ()
    plain = contiguous("", a.tensor.shape, "float32").strides == a.tensor.strides
    channels, size = a.tensor.shape[1], math.prod(a.tensor.shape[2:])
    can_move = plain and channels > 1 and size > 1 and _is_clear(step, size)
    return ("as is", "last") if can_move else ("as is",)


def _is_clear(step: Contraction, size: int) -> bool:
    """Return whether every distance in memory is along one dimension, where a channel has ``size``
    elements. No tap may step past a channel's end (a kernel as large as the image is one axis with
    its channels), and no padding may be a whole channel."""
    index, stretched = step.a.index, {s.tap for s in step.stretches}
    taps = [axis for axis in image_of(step, "as is").taps if axis.name not in stretched]
    reaches = [abs(index.coefficient(axis.name)) * (axis.size - 1) for axis in taps]
    steps = [abs(c) for _, c in index.terms] + [abs(index.offset)]
    return (
        all(reach < size for reach in reaches)
        and all(step < size or step % size == 0 for step in steps)
        and index.offset > -size
    )


def weight_name(step: Contraction) -> str:
    """Return the name of the tensor that holds the weights as a matrix."""
    return f"{step.name}_weight"


def parts_name(step: Contraction) -> str:
    """Return the name of the tensor that holds that matrix in three parts."""
    return f"{step.name}_weight_in_three"


def image_name(step: Contraction) -> str:
    """Return the name of the tensor that holds the image with channels last."""
    return f"{step.name}_image"


def weight_row(step: Contraction, block: int) -> int:
    """Return the number of elements in a row of that matrix. Rows are padded to whole blocks, so
    that they are aligned and loads need no mask, except where phases select their taps."""
    depth = size_of(step.k)
    return depth if step.stretches else math.ceil(depth / block) * block


def weights(
    step: Contraction, image: Image, row: int, *, in_parts: bool, is_rounded: bool
) -> Derived:
    """Return the statements that make the weights a matrix, a row per output channel, and its
    parts."""
    depth = (*image.taps, *([image.channel] if image.channel else []))
    axes = (*step.batch, *step.n, *depth)
    sizes = tuple(axis.size for axis in axes)
    strides = tuple(step.b.index.coefficient(axis.name) for axis in axes)
    name, source = weight_name(step), step.b.tensor.name
    n_rows = size_of((*step.batch, *step.n))
    matrix = f"{source}.as_strided({sizes}, {strides}).reshape({n_rows}, {size_of(depth)})"
    if missing := row - size_of(depth):
        matrix = f"torch.nn.functional.pad({matrix}, (0, {missing}))"
    matrix = f"rounded_to_tf32({matrix})" if is_rounded else f"{matrix}.clone()"
    whole = contiguous(name, (n_rows, row), "float32")
    if not in_parts:
        return Derived((whole,), source, f"{name} = {matrix}")
    parts = contiguous(parts_name(step), (3, n_rows, row), "bfloat16")
    return Derived((whole, parts), source, f"{name} = {matrix}\n{parts.name} = in_three({name})")


def laid_out(step: Contraction, image: Image, *, is_rounded: bool) -> Derived:
    """Return the statements that copy the image with channels last."""
    tensor = step.a.tensor
    images, channels, size = *tensor.shape[:2], math.prod(tensor.shape[2:])
    copy = contiguous(image_name(step), (images, size, channels), "float32")
    block_c = min(64, max(4, 1 << (channels - 1).bit_length()))
    block = max(32, _TILE // block_c)
    grid = (math.ceil(size / block), math.ceil(channels / block_c), images)
    constants = {
        "CHANNELS": channels, "SIZE": size, "BLOCK_C": block_c, "BLOCK": block,
        "ROUNDED": is_rounded,
    }  # fmt: skip
    groups = [[tensor.name, copy.name], [f"{key}={value}" for key, value in constants.items()]]
    text = f"{allocation(copy, tensor.name)}\n{wrapped(f'channels_last[{grid}](', groups, ')')}"
    return Derived((copy,), tensor.name, text)


def image_kernels(derived: str) -> list[str]:
    """Return the functions that ``derived`` calls."""
    texts = {
        "channels_last[": _LAST, "rounded_to_tf32(": _ROUNDED_WEIGHT, "in_three(": _PARTS_OF_WEIGHT,
    }  # fmt: skip
    return [text for name, text in texts.items() if name in derived]
