"""A recurrent network in CUDA: its layers run as one wavefront, or in one launch after another.

Every block keeps the weights of its hidden units in registers for all time steps. In a wavefront,
each layer has its own processors and starts as soon as the layer below has produced one step. A
layer of a bidirectional network must wait for whole sequences, so each layer takes all processors
in turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernelwright.compiler.codegen.cuda.recurrence_text import THREADS, WARPS
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name, wrapped
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS, Knobs
from kernelwright.compiler.ir.ir import Recurrence, Tensor, contiguous

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
_KINDS = {"lstm": 0, "gru": 1, "rnn_tanh": 2, "rnn_relu": 3}
MAX_BATCH = 16
"""Largest batch: the sums of every row of the batch stay in registers."""
MAX_WEIGHTS = 136
"""Largest number of weights that a thread holds in registers beside the sums of 16 rows, of at most
255 registers."""
SHARED_BYTES = 48 * 1024
"""Shared memory in bytes that a block gets without opting in: CUDA C++ programming guide, compute
capability 9.0."""


def supports(step: Recurrence) -> bool:
    """Return whether a schedule exists: float32, small batches, dense and aligned tensors."""
    tensors = (*step.reads, *step.writes)
    if any(tensor.dtype != "float32" for tensor in tensors) or len(step.x.shape) != 3:
        return False
    per_cell = 4 if step.biased else 2
    if len(step.weights) != per_cell * step.n_layers * step.n_directions:
        return False  # the network has projections
    matrices = [w for i, w in enumerate(step.weights) if i % per_cell < 2]
    in_rows = all(w.strides[-1] == 1 for w in matrices)
    cut = matrices if in_rows and step.n_layers == 1 else []
    dense = (*step.states, *(w for w in step.weights if w not in cut), *step.results[1:])
    if any(t.strides != contiguous("", t.shape, t.dtype).strides for t in dense):
        return False
    n, _, inputs, (x_time, x_batch) = _sizes(step)
    time_major = (n * step.hidden * step.n_directions, step.hidden * step.n_directions)
    if _steps(step.results[0], step) != time_major or step.x.strides[-1] != 1:
        return False
    whole = all(size % 4 == 0 for size in (inputs, step.hidden, x_time, x_batch))
    return whole and n <= MAX_BATCH and bool(choices(step))


def _sizes(step: Recurrence) -> tuple[int, int, int, tuple[int, int]]:
    """Return the batch size, time steps, input columns, and the input's strides in time and
    batch."""
    first, second, inputs = step.x.shape
    n, length = (first, second) if step.batch_first else (second, first)
    return n, length, inputs, _steps(step.x, step)


def _steps(tensor: Tensor, step: Recurrence) -> tuple[int, int]:
    first, second, _ = tensor.strides
    return (second, first) if step.batch_first else (first, second)


def choices(step: Recurrence) -> list[Knobs]:
    """Return knobs, the most promising first: few units per block keep the work of a step short."""
    found: list[Knobs] = []
    if not step.bidirectional and step.n_layers > 1:
        found += [{"shape": "wavefront", "units": u} for u in (4, 8, 16)]
    found += [{"shape": "layers", "units": u} for u in (4, 8, 16)]
    return [knobs for knobs in found if _fits(step, knobs)]


def neighbours(step: Recurrence, knobs: Knobs) -> Iterator[Knobs]:
    """Yield the other choices."""
    return (other for other in choices(step) if other != knobs)


def _fits(step: Recurrence, knobs: Knobs) -> bool:
    units, n = knobs["units"], _sizes(step)[0]
    if step.hidden % units or units * n > THREADS or _sums(step) * n % (32 // units):
        return False
    together = step.n_layers if knobs["shape"] == "wavefront" else step.n_directions
    packs = [_packs(size, units) for size in _widths(step)]
    weights = 4 * GATES[step.cell] * (max(packs) + _packs(step.hidden, units))
    blocks = together * step.hidden // units
    is_small = _shared_bytes(step, units) <= SHARED_BYTES
    return blocks <= N_PROCESSORS and weights <= MAX_WEIGHTS and is_small


def _widths(step: Recurrence) -> tuple[int, int]:
    """Return the number of columns of the first layer's input, and of the other layers' inputs."""
    return step.x.shape[-1], step.hidden * step.n_directions


def _sums(step: Recurrence) -> int:
    """Return the number of sums per unit: one per gate, plus one because a GRU's last gate has
    two."""
    return 4 if step.cell == "gru" else GATES[step.cell]


def _packs(columns: int, units: int) -> int:
    """Return the number of packs of four columns that a thread multiplies."""
    return math.ceil(columns / (4 * WARPS * (32 // units)))


def _stage(step: Recurrence, units: int) -> int:
    """Return the packs of shared memory for one time step's columns."""
    widest = max(_packs(size, units) for size in (*_widths(step), step.hidden))
    return WARPS * _sizes(step)[0] * (32 // units) * widest


def _partial(step: Recurrence, units: int) -> int:
    return WARPS * _sums(step) * _sizes(step)[0] * units


def _shared_bytes(step: Recurrence, units: int) -> int:
    return 16 * _stage(step, units) + 4 * _partial(step, units)


def emit_recurrence(step: Recurrence, knobs: Mapping[str, Any]) -> Launched:
    """Emit ``step`` in CUDA C++ under ``knobs``: shape, units."""
    wave = knobs["shape"] == "wavefront"
    text = _shape_text(step, knobs["units"])
    text += _wavefront_text(step, knobs) if wave else _layers_text(step, knobs)
    launch = _launch_wavefront(step, knobs) if wave else _launch_layers(step, knobs)
    others = (_others(step),) if not wave and step.n_layers > 1 else ()
    return Launched(text, launch, others=others)


def _shape_text(step: Recurrence, units: int) -> str:
    n, length, _, _ = _sizes(step)
    y_time, y_batch = _steps(step.results[0], step)
    numbers = {
        "KIND": _KINDS[step.cell], "GATES": GATES[step.cell], "SUMS": _sums(step),
        "BATCH": n, "TIME": length, "HIDDEN": step.hidden, "UNITS": units,
        "Y_TIME": y_time, "Y_BATCH": y_batch, "BIASED": int(step.biased),
    }  # fmt: skip
    listed = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    return f"struct {function_name(step)}_sizes {{\n    static constexpr int {listed};\n}};\n"


def _head(step: Recurrence, name: str, parameters: list[str]) -> str:
    lines = "".join(f"// {line}\n" for line in step.origin)
    listed = ", ".join(f"float* __restrict__ {parameter}" for parameter in parameters)
    return f'{lines}extern "C" __global__ void __launch_bounds__({THREADS}, 1)\n{name}({listed}) {{'


def _body_start(step: Recurrence, units: int) -> str:
    return f"""
    __shared__ float4 stage[{_stage(step, units)}];
    __shared__ float partial[{_partial(step, units)}];
    const int number = blockIdx.x / {step.hidden // units};
    const int group = blockIdx.x % {step.hidden // units};"""


def _wavefront_text(step: Recurrence, knobs: Mapping[str, Any]) -> str:
    sizes, per_cell = f"{function_name(step)}_sizes", 4 if step.biased else 2
    n, length, inputs, (x_time, x_batch) = _sizes(step)
    weights = [f"w{i}" for i in range(len(step.weights))]
    states = ["h0", "c0", "h_n", "c_n"] if step.cell == "lstm" else ["h0", "h_n"]
    head = _head(step, function_name(step), ["x", "between", "y", *states, *weights])
    c0, c_n = ("c0 + state", "c_n + state") if step.cell == "lstm" else ("0", "0")
    b_x, b_h = ("own[2]", "own[3]") if step.biased else ("0", "0")
    return f"""{head}{_body_start(step, knobs["units"])}
    const float* weights[] = {{{", ".join(weights)}}};
    const float** own = weights + number * {per_cell};
    constexpr int steps[] = {{{_row_steps(step.weights, per_cell)}}};
    const int* apart = steps + number * 2;
    const int state = number * {n * step.hidden};
    const long long sequence = {length * n * step.hidden};
    float* to = number == {step.n_layers - 1} ? y : between + number * sequence;
    const float* from = number == 0 ? x : between + (number - 1) * sequence;
    const Cell cell = {{from, h0 + state, {c0}, to, h_n + state, {c_n},
                       own[0], own[1], {b_x}, {b_h}, apart[0], apart[1], false}};
    if (number == 0)
        run_cell<{sizes}, {inputs}, {x_time}, {x_batch}, false>(cell, group, stage, partial);
    else
        run_cell<{sizes}, {step.hidden}, {sizes}::Y_TIME, {sizes}::Y_BATCH, true>(
            cell, group, stage, partial);
}}
"""


def _row_steps(weights: Sequence[Tensor], per_cell: int) -> str:
    """Return the row strides of each cell's two matrices, in elements."""
    matrices = [weight for i, weight in enumerate(weights) if i % per_cell < 2]
    return ", ".join(str(weight.strides[0]) for weight in matrices)


def _layers_text(step: Recurrence, knobs: Mapping[str, Any]) -> str:
    """Return a kernel for the first layer, and one for all other layers."""
    inputs, others = _widths(step)
    x_time, x_batch = _sizes(step)[3]
    y_time, y_batch = _steps(step.results[0], step)
    first = _layer_text(step, knobs, function_name(step), (inputs, x_time, x_batch))
    if step.n_layers == 1:
        return first
    return first + _layer_text(step, knobs, _others(step), (others, y_time, y_batch))


def _others(step: Recurrence) -> str:
    return f"{function_name(step)}_others"


def _layer_text(
    step: Recurrence, knobs: Mapping[str, Any], name: str, x: tuple[int, int, int]
) -> str:
    n, per_cell = _sizes(step)[0], 4 if step.biased else 2
    n_weights = per_cell * step.n_directions
    first = step.weights[n_weights : 2 * n_weights] if name == _others(step) else step.weights
    weights = [f"w{i}" for i in range(per_cell * step.n_directions)]
    states = ["h0", "c0", "h_n", "c_n"] if step.cell == "lstm" else ["h0", "h_n"]
    head = _head(step, name, ["x", "y", *states, *weights])
    c0, c_n = ("c0 + state", "c_n + state") if step.cell == "lstm" else ("0", "0")
    b_x, b_h = ("own[2]", "own[3]") if step.biased else ("0", "0")
    return f"""{head}{_body_start(step, knobs["units"])}
    const float* weights[] = {{{", ".join(weights)}}};
    const float** own = weights + number * {per_cell};
    constexpr int steps[] = {{{_row_steps(first[:n_weights], per_cell)}}};
    const int* apart = steps + number * 2;
    const int state = number * {n * step.hidden};
    const Cell cell = {{x, h0 + state, {c0}, y + number * {step.hidden}, h_n + state, {c_n},
                       own[0], own[1], {b_x}, {b_h}, apart[0], apart[1], number == 1}};
    run_cell<{function_name(step)}_sizes, {", ".join(map(str, x))}, false>(
        cell, group, stage, partial);
}}
"""


def _marked(step: Recurrence) -> list[str]:
    """Return statements that put the mark in every location of the sequences."""
    n, length, _, _ = _sizes(step)
    shape = (step.n_layers - 1, length, n, step.hidden * step.n_directions)
    lines = [f"{step.results[0].name}.view(torch.int32).fill_(-1)  # not written yet"]
    if step.n_layers > 1:
        device = f"device={step.x.name}.device"
        between = f"torch.full({shape}, -1, dtype=torch.int32, {device}).view(torch.float32)"
        lines.append(f"{step.name}_between = {between}")
    return lines


def _call(name: str, blocks: int, tensors: list[str]) -> str:
    start = f'KERNELS.launch("{name}", {blocks}, ({THREADS}, 1), '
    return wrapped(start, [[*tensors, "together=True"]], ")")


def _launch_wavefront(step: Recurrence, knobs: Mapping[str, Any]) -> str:
    between = f"{step.name}_between"
    results, states = ([t.name for t in group] for group in (step.results, step.states))
    tensors = [_aligned(step.x.name), between, results[0], *map(_aligned, states), *results[1:]]
    tensors += [weight.name for weight in step.weights]
    blocks = step.n_layers * step.hidden // knobs["units"]
    return "\n".join([*_marked(step), _call(function_name(step), blocks, tensors)])


def _launch_layers(step: Recurrence, knobs: Mapping[str, Any]) -> str:
    lines, d = _marked(step), step.n_directions
    per_layer = len(step.weights) // step.n_layers
    x = _aligned(step.x.name)
    for layer in range(step.n_layers):
        is_last = layer == step.n_layers - 1
        y = step.results[0].name if is_last else f"{step.name}_between[{layer}]"
        rows = f"[{layer * d}:{(layer + 1) * d}]"
        tensors = [x, y, *(_aligned(t.name) + rows for t in step.states)]
        tensors += [t.name + rows for t in step.results[1:]]
        weights = step.weights[layer * per_layer : (layer + 1) * per_layer]
        name = _others(step) if layer else function_name(step)
        tensors += [weight.name for weight in weights]
        lines.append(_call(name, d * step.hidden // knobs["units"], tensors))
        x = y
    return "\n".join(lines)


def _aligned(name: str) -> str:
    return f"aligned({name})"
