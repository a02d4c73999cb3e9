"""How far norms over one long row are from float64: emitted CUDA, compiled by g++, and the library.

    python -m benchmarks.norm_rows

Each line: what the row holds, the largest error of own code and of the library on this CPU, and the
largest exact value. Two million values, as in KernelBench's group norm, and 512 threads: each adds
4096 of them one by one. Needs g++; no GPU.
"""

from __future__ import annotations

import torch
from tests.emitters import build, source
from tests.host.emit_gpu.simt import on_cpu
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion

SHAPE = (1, 8, 512, 512)
KNOBS = {"shape": "row", "threads": 512, "vector": 4, "rows": 1, "keep": False}


class Norm(nn.Module):
    def forward(self, x):
        return (nn.functional.group_norm(x, 1),)


def rows() -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    normal = torch.randn(SHAPE, generator=draw)
    is_kept = torch.rand(SHAPE, generator=draw) < 0.01
    return {
        "one value": torch.full(SHAPE, 1.3393),
        "normal": normal,
        "normal + 100": normal + 100,
        "1 in 100 not zero": torch.where(is_kept, normal, 0.0),
        "its first 1e4": normal.clone().flatten().index_fill(0, torch.tensor([0]), 1e4).view(SHAPE),
    }


def main() -> None:
    emitter, norm = CudaEmitter(), Norm()
    captured = capture(norm, [torch.rand(SHAPE)])
    program = assemble_supported(captured, Fusion(), emitter.supports, products=True)
    schedule = {step.name: KNOBS for step in program.own()}
    text = source(program, emitter.emit(program, schedule, Target("cuda:sm_90")))
    forward = build(on_cpu(text))
    for name, x in rows().items():
        (exact,), (library,), (own,) = norm(x.double()), norm(x), forward(x)
        errors = [f"{float((found - exact).abs().max()):.1e}" for found in (own, library)]
        print(f"{name:18s} own {errors[0]}  library {errors[1]}  of {float(exact.abs().max()):.1f}")


if __name__ == "__main__":
    main()
