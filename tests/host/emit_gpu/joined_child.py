"""Transposed convolutions whose programs have both phases of the last dimension.

``values``: many shapes in Triton's interpreter (with TRITON_INTERPRET=1). ``compile``: a few for an
NVIDIA and an AMD GPU, without either. Prints one JSON object: by case what is wrong with it.
"""

from __future__ import annotations

import random
from dataclasses import replace

import torch
import triton
from tests.emitters import build, mismatch, source
from tests.host.emit_gpu.triton_child import Recorder, compile_for, report
from torch import nn
from triton.backends.compiler import GPUTarget

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.triton.convolution_schedule import is_convolution
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.codegen.triton.grid import grid_of, side_by_side
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Contraction, Program

EMITTER = TritonEmitter()
SMALL = {
    "block_m": 16, "block_n": 16, "block_k": 16, "warps": 4, "stages": 3, "phases": "joined",
}  # fmt: skip
WAYS = (("tf32", "as is"), ("parts", "as is"), ("tf32", "last"))
SHIFTED = ("tf32", "shifted")
"""Precisions and layouts; shifted rows where outputs are side by side."""
N_SHAPES = 6


class Upsampled(nn.Module):
    """A transposed convolution, and a bias, mish and clamp after it."""

    def __init__(self, dims: int, channels: tuple[int, int], **options: object) -> None:
        super().__init__()
        kind = nn.ConvTranspose2d if dims == 2 else nn.ConvTranspose3d
        self.up = kind(*channels, **options)
        self.shift = nn.Parameter(torch.randn(channels[1], *(1,) * dims))

    def forward(self, x):
        return torch.clamp(nn.functional.mish(self.up(x) + self.shift), -0.2, 0.9) * 2.0


def drawn(seed: int) -> tuple[nn.Module, torch.Tensor]:
    """A convolution of stride 2 along the last dimension, and an image for it."""
    draw, dims = random.Random(seed), 2 + seed % 2
    strides = (*(draw.choice([1, 2, 3]) for _ in range(dims - 1)), 2)
    kernel = tuple(draw.choice([2, 3, 4, 5]) for _ in range(dims))
    dilation = tuple(draw.choice([1, 1, 1, 2, 3]) for _ in range(dims))
    padding = tuple(draw.randrange(0, min(k, 3)) for k in kernel)
    more = tuple(draw.randrange(max(s, d)) for s, d in zip(strides, dilation, strict=True))
    sizes = [draw.randrange(3, 7) for _ in range(dims)]
    torch.manual_seed(seed)
    module = Upsampled(
        dims, (draw.choice([4, 5, 16]), draw.choice([3, 20])), kernel_size=kernel,
        stride=strides, padding=padding, output_padding=more, dilation=dilation,
        bias=draw.choice([True, False]),
    )  # fmt: skip
    return module, torch.randn(2, module.up.in_channels, *sizes)


FITTING = {
    "2-D": lambda: (
        Upsampled(2, (16, 20), kernel_size=4, stride=2, padding=1),
        torch.randn(2, 16, 8, 8),
    ),
    "3-D": lambda: (
        Upsampled(3, (16, 20), kernel_size=3, stride=2, padding=1, output_padding=1),
        torch.randn(1, 16, 5, 5, 6),
    ),
}
"""Shapes of which shifted rows are offered."""
CASES = {**FITTING, **{f"drawn {n}": lambda n=n: drawn(n) for n in range(N_SHAPES)}}


def program_of(module: nn.Module, x: torch.Tensor) -> tuple[Program, list[torch.Tensor]]:
    """The program with its weights as inputs, and the inputs."""
    captured = capture(module, [x])
    program = assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
    weights = dict(module.state_dict())
    inputs = (*program.inputs, *(tensor for tensor, _ in program.attributes))
    given = [x, *(weights[path] for _, path in program.attributes)]
    outputs = program.outputs if isinstance(program.outputs, tuple) else (program.outputs,)
    return replace(program, inputs=inputs, attributes=(), outputs=outputs), given


def convolution_of(program: Program) -> Contraction:
    return next(s for s in program.own() if isinstance(s, Contraction) and is_convolution(s))


def wrong_values(name: str) -> str:
    """What differs from the program's meaning in any way of reading the image."""
    target = Target("cpu")
    program, given = program_of(*CASES[name]())
    step = convolution_of(program)
    if side_by_side(step) is None:
        return "its phases cannot be joined"
    (first, *_) = EMITTER.schedules(program, target)
    if first[step.name].get("phases") != "joined":
        return f"the first schedule is {first}"
    if name in FITTING and not grid_of(step):
        return "rows are not side by side"
    # each of the drawn shapes in one of the ways
    ways = WAYS if name in FITTING else (WAYS[int(name.split()[1]) % len(WAYS)],)
    for precision, layout in (*ways, SHIFTED):
        if layout == "shifted" and not grid_of(step):
            continue
        knobs = {**SMALL, "precision": precision, "layout": layout}
        schedule = {**first, step.name: knobs}
        text = source(program, EMITTER.emit(program, schedule, target))
        if "tl.join" not in text:
            return f"phases are apart\n{text}"
        if different := mismatch(build(text)(*given), program, given):
            return f"{knobs}: {different}\n{text}"
    return ""


def not_compiled(name: str) -> str:
    """What stops the kernels from compiling under every schedule that joins phases."""
    target = Target("cuda:sm_90")
    program, given = program_of(*CASES[name]())
    step = convolution_of(program)
    for schedule in EMITTER.schedules(program, target):
        if schedule[step.name].get("phases") != "joined":
            continue
        forward = build(source(program, EMITTER.emit(program, schedule, target)))
        launches: list = []
        for key, value in list(forward.__globals__.items()):
            is_launched = key.endswith(("_kernel", "channels_last", "padded_image"))
            if isinstance(value, triton.JITFunction) and is_launched:
                forward.__globals__[key] = Recorder(value, launches)
        forward(*given)
        for function, tensors, options in launches:
            for gpu in (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
                compile_for(gpu, function, tensors, dict(options))
    return ""


if __name__ == "__main__":
    report({"values": (wrong_values, CASES), "compile": (not_compiled, FITTING)})
