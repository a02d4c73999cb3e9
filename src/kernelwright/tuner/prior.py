"""The time of a candidate as a roofline model has it, before anything is measured.

It tells ways to fuse apart, by the bytes that they move and the kernels that they launch, and knobs
that leave a device idle from others. The emitters' own guesses say the rest: their order counts
where two candidates come out alike.

Source:
    Williams, Waterman, Patterson 2009, Roofline: an insightful visual performance model, CACM 52.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.compiler.codegen.outline import CHANNELS_LAST, PRODUCTS
from kernelwright.core.trial import Outline, StepOutline

Knobs = Mapping[str, Any]
"""The knobs of one step; the words for those of all emitters are data in ``features``."""


@dataclass(frozen=True)
class Machine:
    """The rates of a device. They only decide what is tried first."""

    kind: str
    bytes_per_s: float
    flops_per_s: float
    """Of float32, without tensor cores."""
    launch_ns: float
    """Time between two kernels or calls of the library that Python starts."""
    n_units: int
    """Processors of a GPU, threads of a CPU."""


CPU_THREAD = (8e9, 4e10)
"""Bytes and floating-point operations a second of one core; two Zen 5 cores copied 16 GB/s."""
GPU = Machine("cuda", 4.28e12, 6e13, 8_000.0, 132)
"""An H200: the rate of a copy and the launches as measured, the arithmetic from its datasheet."""
IN_GRAPH_NS = 1_500.0
"""Time between two kernels of a CUDA graph."""
FASTER = {
    "native": 8.0, "tf32": 5.0, "fp16x2_3": 3.6, "bf16x3_6": 1.9, "parts": 1.9,
}  # fmt: skip
"""How much faster products are than in float32, by their precision."""
LIBRARY_SHARE, PRODUCT_SHARE = 0.7, 0.8
"""The share of a roofline that the library's kernels reach, and that its products in float32 do:
cuBLAS took 2.7 ms for 4096 x 4096 x 4096 on an H200."""
HALVES, HALF_FLOPS = {"bfloat16", "float16"}, 11.0
"""Types of 16 bits, and how much faster the library's products of them are than float32 ones
without tensor cores. On an H100 the first own products of layers of BERT, ViT, Whisper and Llama
took 1.3 to 1.6 times as long as the library's."""
VIEWS = {
    "view", "reshape", "permute", "transpose", "t", "unbind", "unsqueeze", "squeeze", "expand",
    "split", "chunk", "select", "slice", "unflatten", "flatten",
}  # fmt: skip
"""Calls of the library that move nothing, and start no kernel."""
CONVOLVED_FLOPS, CONVOLVED_BYTES, TRANSPOSED_BYTES = 2.8, 3.0, 6.0
"""How much faster the library convolves in TF32, which its flag allows, than float32 products run,
and how many times it moves the operands of a convolution and of a transposed one, whose layout it
changes on the way: fitted to nine of KernelBench's problems on an H200, where it reached 160
TFLOP/s at 64 channels and more. It adds a bias in a pass of its own."""
LAST_FLOPS, LAST_BYTES = 4.0, 1.4
"""The same of an image with channels last, which it convolves as it lies: VGG16's and RegNet's
convolutions reached 210 to 280 TFLOP/s on an H100."""
SHIFTED = 0.65
"""Time of a convolution whose kernel reads shifted rows of its image, over that of the same product
of matrices: 0.55 to 0.75 in five problems on an H200."""
EXCHANGED = 12.0
"""How much longer a kernel takes that reads along one axis and writes along another without tiles:
10 to 20 times as measured on an H200."""
REREAD = 0.3
"""The cost of reading a row again, which is in a cache, as a share of reading it from memory."""
LEAST_FILL = 1 / 16
"""The least share of a device that a kernel with few programs is assumed to use."""


def machine(kind: str, threads: int) -> Machine:
    """Return the rates of a kind of device."""
    if kind != "cpu":
        return GPU
    bytes_per_s, flops_per_s = CPU_THREAD
    return Machine("cpu", threads * bytes_per_s, threads * flops_per_s, 5_000.0, max(1, threads))


def prior_ns(outline: Outline, schedule: Mapping[str, Any], on: Machine) -> float:
    """Return the model's time of a call in nanoseconds. ``schedule`` is that of a proposal."""
    kernels = schedule.get("kernels", {})
    launch_ns = IN_GRAPH_NS if kernels.get("graph") else on.launch_ns
    device_ns = sum(step_ns(step, kernels.get(step.name) or {}, on) for step in outline.steps)
    launches_ns = launch_ns * sum(not _is_view(step) for step in outline.steps)
    # A GPU works while Python starts the next kernel; the longer of the two decides.
    return max(device_ns, launches_ns) + 0.2 * min(device_ns, launches_ns) + 1.0


def step_ns(step: StepOutline, knobs: Knobs, on: Machine) -> float:
    """Return the time of one step without its launch."""
    rate = on.flops_per_s
    moved_ns = step.sizes["bytes"] / on.bytes_per_s * 1e9
    if step.kind == "library":
        return _library_ns(step, moved_ns, on)
    rate *= FASTER.get(str(knobs.get("precision")), 1.0) if on.kind != "cpu" else 1.0
    if step.kind == "attention" and on.kind != "cpu" and not HALVES.isdisjoint(step.form):
        rate *= HALF_FLOPS
    flops_ns = step.sizes["flops"] / rate * 1e9
    if "block_m" in knobs or "mr" in knobs:
        flops_ns *= _waste_of_tiles(step, knobs)
        flops_ns *= SHIFTED if knobs.get("layout") == "shifted" else 1.0
    elif not _keeps_rows(step, knobs):
        moved_ns *= 1.0 + REREAD * step.sizes.get("passes", 0.0)
    if step.form.get("exchanged") and knobs.get("shape") == "lanes" and on.kind != "cpu":
        moved_ns *= EXCHANGED
    n_programs = programs_of(step, knobs)
    fill = 1.0 if n_programs is None else _fill(n_programs, on.n_units)
    if knobs.get("parallel") == "none":
        fill = 1.0 / on.n_units
    return max(moved_ns, flops_ns) / fill


def _library_ns(step: StepOutline, moved_ns: float, on: Machine) -> float:
    """Return the time of a call of the library."""
    if _is_view(step):
        return 0.0
    words = _words(step)
    is_half = bool(words & HALVES) and "float32" not in words and on.kind != "cpu"
    flops_ns = step.sizes["flops"] / on.flops_per_s * 1e9 / (HALF_FLOPS if is_half else 1.0)
    if on.kind != "cpu" and any(word.startswith("conv") for word in words):
        bias_ns = step.sizes.get("bias_bytes", 0.0) / on.bytes_per_s * 1e9 / LIBRARY_SHARE
        is_transposed = any("transpose" in word for word in words)
        n_times = TRANSPOSED_BYTES if is_transposed else CONVOLVED_BYTES
        faster = CONVOLVED_FLOPS
        if CHANNELS_LAST in step.form:
            n_times, faster = LAST_BYTES * n_times / CONVOLVED_BYTES, LAST_FLOPS
        flops_ns /= 1.0 if is_half else faster
        return max(n_times * moved_ns, flops_ns) + bias_ns
    share = LIBRARY_SHARE if words.isdisjoint(PRODUCTS) else PRODUCT_SHARE
    return max(moved_ns, flops_ns) / share


def _words(step: StepOutline) -> set[str]:
    """The words of a library call's name, and the types of its tensors."""
    return {word for call in step.form for word in call.split(".")}


def _is_view(step: StepOutline) -> bool:
    return step.kind == "library" and not VIEWS.isdisjoint(_words(step))


def programs_of(step: StepOutline, knobs: Knobs) -> float | None:
    """Return the number of programs or blocks of a kernel for a GPU; None if it has none."""
    rows, columns = step.sizes.get("rows", 1.0), step.sizes.get("columns", 1.0)

    def knob(name: str) -> float:
        return float(knobs.get(name, 1))

    if "block_m" in knobs:
        n_tiles = math.ceil(rows / _rows_of_tile(knobs)) * math.ceil(columns / knob("block_n"))
        return knob("parts") * n_tiles * step.sizes.get("batch", 1.0)
    shape = knobs.get("shape")
    if step.kind == "product":  # a thin one, of which every result is a row of its own
        rows *= columns * step.sizes.get("batch", 1.0)
    if shape == "lanes":
        return max(1.0, rows / (knob("block") * knob("threads") * knob("vector")))
    if shape == "column":
        return max(1.0, knob("parts") * rows / knob("threads"))
    if shape in ("row", "rows"):
        return max(1.0, knob("parts") * rows / knob("rows"))
    return None


def _rows_of_tile(knobs: Knobs) -> float:
    """Return the number of rows of results that a program has: one phase's, or those of two."""
    return float(knobs["block_m"]) * (2.0 if knobs.get("phases") == "joined" else 1.0)


def _fill(n_programs: float, n_units: int) -> float:
    """Return the share of a device that so many programs keep busy: the last wave is not full."""
    waves = math.ceil(n_programs / n_units)
    return max(LEAST_FILL, n_programs / (waves * n_units))


def _keeps_rows(step: StepOutline, knobs: Knobs) -> bool:
    """Whether a kernel reads its rows once."""
    if "keep" in knobs:
        return bool(knobs["keep"])
    block = knobs.get("block")
    is_row = knobs.get("shape") in ("row", "rows")
    return not is_row or block is None or block >= step.sizes.get("columns", 1.0)


def _waste_of_tiles(step: StepOutline, knobs: Knobs) -> float:
    """Return the factor by which a product's tiles do more work than its results need: padding, and
    operands that a thin tile reads more often. Those of split operands were fitted to products of
    4096 x 4096 x 4096 and 2048 x 4096 x 8192 on an H200."""
    rows, columns = step.sizes["rows"], step.sizes["columns"]
    if "block_m" in knobs:
        m, n = _rows_of_tile(knobs), float(knobs.get("block_n", 1))
        reuse = 12.0 if knobs.get("split") == "before" else 32.0
    else:
        m, n, reuse = float(knobs["mr"]), 16.0 * knobs.get("nv", 1), 1.0
    padded = math.ceil(rows / m) * m * math.ceil(columns / n) * n / max(1.0, rows * columns)
    return padded * (1.0 + reuse / m + reuse / n)
