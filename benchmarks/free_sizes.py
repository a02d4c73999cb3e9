"""What a free batch costs: kernels that take the number of rows, over kernels with it baked in.

Both are emitted from the same program under the same schedule, and called in turn. A ratio above 1
means that the kernel with the free size is slower. Times are the fastest tenth of the calls, since
other programs on the machine only ever add to a time.

With ``--joined`` the second file is the first one joined with kernels for two other shapes, and the
ratio is that of the joined file over the general one alone, on the main shape, where both run the
same kernel: what it costs that sizes choose.

    python benchmarks/free_sizes.py [--joined] [--dialect cpp] [--device cpu] [--rounds 200]
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import itertools
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

from kernelwright.compiler.candidate.joined import Special, joined
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules.proposer import OpenedTask, emitters, proposals
from kernelwright.proposers.rules.variants import variants

LINEAR = "self.f = nn.Linear(512, 512)"
FORWARDS = {
    "softmax of short rows": ("4096, 256", "", "torch.softmax(x * 2.0, -1)"),
    "layer norm": ("2048, 1024", "self.f = nn.LayerNorm(1024)", "self.f(x) + x"),
    "pointwise": ("2048, 1000", "", "torch.nn.functional.gelu(x * 1.5 + 0.5)"),
    "sum of columns": ("512, 64, 128", "", "x.exp().sum(1)"),
    "linear, then GELU": ("512, 512", LINEAR, "nn.functional.gelu(self.f(x))"),
    "linear of few rows": ("4, 512", LINEAR, "torch.relu(self.f(x))"),
    "small pointwise": ("8, 64", "", "torch.relu(x) * 2.0"),
}  # fmt: skip
TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        return {forward}

def get_inputs():
    return [torch.randn({shape})]

def get_init_inputs():
    return []
"""


def modules(task: Task, dialect: str, device: str) -> tuple[nn.Module, nn.Module]:
    """The same kernels with free sizes and with fixed ones, on the device."""
    found = []
    for is_free in (True, False):
        opened = OpenedTask(Brief(task, Device.parse(device), (dialect,), threads=2))
        if not is_free:
            opened.parts = [dataclasses.replace(opened.parts[0], freed=iter(()))]
        (emitter,) = emitters(opened.brief)
        way = variants(opened.brief.device.kind)[0]
        schedule = next(iter(emitter.schedules(opened.program(way, emitter), opened.target)))
        source = opened.proposal(way, emitter, schedule).candidate.source
        if is_free != ("n_batch = " in source):
            raise SystemExit(f"the sizes of {task.name} are not as they should be")
        found.append(executed(source).to(device).eval())
    return found[0], found[1]


def joined_modules(task: Task, dialect: str, device: str) -> tuple[nn.Module, nn.Module]:
    """The general kernels, joined with others for a half and a quarter of the rows, and alone."""
    rows = int(open_reference(task).inputs(0)[0].shape[0])
    others = [task.source.replace(f"randn({rows}, ", f"randn({rows // part}, ") for part in (2, 4)]
    texts, shapes = [], []
    for number, source in enumerate((task.source, *others)):
        of_shape = Task(task.name, "kernelbench", source)
        brief = Brief(of_shape, resolve(Device.parse(device)), (dialect,), threads=2)
        found = [*itertools.islice(proposals(brief), 1 + bool(number))]
        texts.append(found[-1].candidate.source)
        shapes.append(tuple(open_reference(of_shape).inputs(0)[0].shape))
    specials = [Special(t, {"x": s}) for t, s in zip(texts[1:], shapes[1:], strict=True)]
    both = [executed(text).to(device).eval() for text in (joined(texts[0], specials), texts[0])]
    return both[0], both[1]


def executed(source: str) -> nn.Module:
    """The file's module: Triton reads the file back."""
    path = Path(tempfile.mkdtemp()) / "candidate.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("candidate", path)
    assert spec is not None and spec.loader is not None
    file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    torch.manual_seed(0)
    made: nn.Module = file.ModelNew()
    return made


def times_us(pair: tuple[nn.Module, nn.Module], x: torch.Tensor, rounds: int) -> list[list[float]]:
    """Microseconds of calls of each module, in turn."""
    found: list[list[float]] = [[], []]
    calls = max(1, int(2e5 / x.numel()))
    for _ in range(rounds):
        for module, times in zip(pair, found, strict=True):
            begin = time.perf_counter()
            for _ in range(calls):
                module(x)
            if x.is_cuda:
                torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) / calls * 1e6)
    return found


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", default="cpp")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--joined", action="store_true")
    given = parser.parse_args()
    before, after = ("general", "joined") if given.joined else ("fixed", "free")
    print(f"| kernel | {before}, µs | {after}, µs | {after} / {before} |\n|---|---|---|---|")
    for name, (shape, init, forward) in FORWARDS.items():
        task = Task(
            name, "kernelbench", TASK.format(shape=shape, init=init or "pass", forward=forward)
        )
        made = joined_modules if given.joined else modules
        pair = made(task, given.dialect, given.device)
        x = open_reference(task).inputs(0, given.device)[0]
        for module in pair:
            assert module.why_not(x) == "", module.why_not(x)
            module(x)
        free, fixed = times_us(pair, x, given.rounds)
        least = [
            statistics.median(sorted(times)[: len(times) // 10 or 1]) for times in (fixed, free)
        ]
        print(
            f"| {name} | {least[0]:.1f} | {least[1]:.1f} | {least[1] / least[0]:.3f} |", flush=True
        )


if __name__ == "__main__":
    main()
