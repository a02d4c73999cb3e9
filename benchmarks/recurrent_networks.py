"""Every schedule of the persistent recurrent kernel beside eager, at the sizes of KernelBench 3/35
to 3/42, with the largest error of each against float64.

    python -m benchmarks.recurrent_networks        # one NVIDIA GPU, about 10 s
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from tests.emitters import build, source
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion

BATCH, STEPS, INPUTS, HIDDEN, LAYERS = 10, 512, 128, 256, 6
NETWORKS = {
    "LSTM": nn.LSTM(INPUTS, HIDDEN, LAYERS, batch_first=True),
    "GRU": nn.GRU(INPUTS, HIDDEN, LAYERS),
    "LSTM both ways": nn.LSTM(INPUTS, HIDDEN, LAYERS, batch_first=True, bidirectional=True),
    "GRU both ways": nn.GRU(INPUTS, HIDDEN, LAYERS, bidirectional=True),
}
EMITTER, GPU = CudaEmitter(), Target("cuda:sm_90")


class Whole(nn.Module):
    """All results of a recurrent network."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: torch.Tensor, *states: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sequence, last = self.network(x, states if len(states) == 2 else states[0])
        return (sequence, *last) if isinstance(last, tuple) else (sequence, last)


def inputs_of(network: Any) -> list[torch.Tensor]:
    """An input and first states, on the CPU."""
    rows = LAYERS * (2 if network.bidirectional else 1)
    shape = (BATCH, STEPS, INPUTS) if network.batch_first else (STEPS, BATCH, INPUTS)
    n_states = 2 if isinstance(network, nn.LSTM) else 1
    return [torch.rand(shape), *(torch.rand(rows, BATCH, HIDDEN) for _ in range(n_states))]


def median_ms(run: Callable[[], Any], n: int = 7) -> float:
    """By CUDA events, after two calls that do not count."""
    times = []
    for _ in range(n + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times[2:])


def worst(got: Any, exact: Any) -> float:
    return max(float((a.double() - b).abs().max()) for a, b in zip(got, exact, strict=True))


def measure(name: str, network: nn.Module, pool: ThreadPoolExecutor) -> None:
    """Prints a line for eager and one for every schedule."""
    module, inputs = Whole(network), inputs_of(network)
    program = assemble_supported(capture(module, inputs), Fusion(), EMITTER.supports, products=True)
    tensors = tuple(tensor for tensor, _ in program.attributes)
    whole = dataclasses.replace(program, attributes=(), inputs=(*program.inputs, *tensors))
    schedules = list(EMITTER.schedules(program, GPU))
    texts = [source(whole, EMITTER.emit(program, schedule, GPU)) for schedule in schedules]
    built = [pool.submit(build, text) for text in texts]
    module, given = module.cuda(), [value.cuda() for value in inputs]
    eager = module(*given)
    exact = module.double()(*(value.double() for value in given))
    module.float()
    print(f"{name}: eager {median_ms(lambda: module(*given)):.3f} ms, {worst(eager, exact):.1e}")
    by_path = dict(module.named_parameters())
    given += [by_path[path].detach() for _, path in program.attributes]
    for schedule, future in zip(schedules, built, strict=True):
        forward = future.result()
        error = worst(forward(*given), exact)
        took_ms = median_ms(lambda forward=forward: forward(*given))
        print(f"  {schedule}: {took_ms:.3f} ms, error {error:.1e}", flush=True)


def main() -> None:
    torch.manual_seed(0)
    torch.zeros(1, device="cuda")
    with torch.no_grad(), ThreadPoolExecutor(8) as pool:
        for name, network in NETWORKS.items():
            measure(name, network, pool)


if __name__ == "__main__":
    main()
