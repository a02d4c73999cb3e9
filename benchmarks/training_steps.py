"""Training steps of fourteen operators: kernels beside eager, torch.compile and Liger-Kernel.

    python benchmarks/training_steps.py --device cuda [--only swiglu] [--budget 90] [--out DIR]

For each operator and dtype a search (``kw.optimize(..., backward=True)``) runs for ``--budget``
seconds; with ``--first N`` the rules' first N candidates are timed instead, none of them tuned or
judged, and the fastest is taken. The module that ``kw.build`` gives, the module itself, its
compiled form and, where liger-kernel is installed and has the operator, Liger's are then timed side
by side: forward, then gradients for a random cotangent, with all launches queued before the step
begins. Inputs are written anew and caches flushed before each step, since Liger's kernels overwrite
what they are given. A ratio is the other's time over ours, the median of the rounds with a
bootstrapped 95 % interval: above 1 our kernels are faster. Host time is how long a step's launches
take to be queued, on a GPU: what decides small steps. Memory is what a step adds to the peak, there
too. The gradients' error is the largest, relative to the largest float64 gradient, beside
eager's own. On a CPU sizes are smaller, and float32 is run alone.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import torch
import torch.nn.functional as F
from torch import nn

import kernelwright as kw
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.dialects.devices import resolve
from kernelwright.loaders.training_step import training_step
from kernelwright.proposers.rules import RulesProposer

N_ROUNDS = {"cuda": 60, "cpu": 12}
N_ROWS = {"cuda": 8192, "cpu": 512}
N_QUICK = 9
FLUSH_BYTES = 256 << 20
"""More than the last cache of either kind of device."""
N_RESAMPLED = 1000
EPS = 1e-6

Step = Callable[[], list[torch.Tensor]]


class Pointwise(nn.Module):
    """A chain as in a residual block with layer scale."""

    def __init__(self, width):
        super().__init__()
        self.scale, self.bias = nn.Parameter(torch.rand(width)), nn.Parameter(torch.rand(width))

    def forward(self, x, residual):
        return residual + self.scale * F.gelu(x + self.bias)


class RMSNorm(nn.Module):
    """As in Llama."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        wide = x.float()
        power = wide.square().mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(power + EPS)).to(x.dtype)


class GroupNormSilu(nn.Module):
    """As in a diffusion model's residual block."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)

    def forward(self, x):
        return F.silu(self.norm(x))


class Gate(nn.Module):
    """The pointwise part of a gated feed-forward."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, a, b):
        act = F.silu(a) if self.act == "silu" else F.gelu(a, approximate="tanh")
        return act * b


class GatedMlp(nn.Module):
    """The whole feed-forward of a Llama layer."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class NormedLinear(nn.Module):
    """The first half of a transformer's feed-forward."""

    def __init__(self, width, inner):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, inner)

    def forward(self, x):
        return F.gelu(self.linear(self.norm(x)))


class Rope(nn.Module):
    """Rotary positions of queries and keys, as in Llama."""

    def __init__(self, length, width):
        super().__init__()
        angles = torch.outer(torch.arange(length), 10_000 ** -(torch.arange(0, width, 2) / width))
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotated(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def forward(self, q, k):
        return self.rotated(q), self.rotated(k)


class CrossEntropy(nn.Module):
    def forward(self, x, target):
        return F.cross_entropy(x, target)


class LinearCrossEntropy(nn.Module):
    """The last layer of a language model and its loss."""

    def __init__(self, width, classes):
        super().__init__()
        self.head = nn.Linear(width, classes, bias=False)

    def forward(self, x, target):
        return F.cross_entropy(self.head(x), target)


class Attention(nn.Module):
    """Causal attention as a layer calls it."""

    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Distillation(nn.Module):
    """The divergence of a student's logits from a teacher's probabilities."""

    def forward(self, x, target):
        return F.kl_div(F.log_softmax(x, -1), target, reduction="batchmean")


def liger_form(name: str, module: nn.Module) -> Callable[..., Any] | None:
    """Liger's function in place of ``module``, with its weights; None where there is none."""
    if importlib.util.find_spec("liger_kernel") is None:
        return None
    from liger_kernel.transformers import functional as liger

    weights = dict(module.named_parameters())
    buffers = dict(module.named_buffers())
    forms: dict[str, Callable[..., Any]] = {
        "softmax": lambda x: liger.liger_softmax(x),
        "layer_norm": lambda x: liger.liger_layer_norm(x, weights["weight"], weights["bias"], 1e-5),
        "rms_norm": lambda x: liger.liger_rms_norm(x, weights["weight"], EPS, in_place=False),
        "cross_entropy": lambda x, target: liger.liger_cross_entropy(x, target),
        "linear_cross_entropy": lambda x, target: liger.liger_fused_linear_cross_entropy(
            x, weights["head.weight"], target
        ),
        "swiglu": lambda a, b: liger.liger_swiglu(a, b),
        "geglu": lambda a, b: liger.liger_geglu(a, b),
        "rope": lambda q, k: liger.liger_rope(q, k, buffers["cos"][None], buffers["sin"][None]),
    }
    return forms.get(name)


@dataclass(frozen=True)
class Operator:
    """An operator at a model's size: its module and its inputs, for so many rows."""

    name: str
    module: Callable[[int], nn.Module]
    inputs: Callable[[int], Sequence[torch.Tensor]]


def rows(width: int, count: int = 1) -> Callable[[int], list[torch.Tensor]]:
    """``count`` inputs of so many rows of ``width``."""
    return lambda n: [torch.randn(n, width) for _ in range(count)]


def images(n: int) -> list[torch.Tensor]:
    return [torch.randn(max(n // 512, 1), 320, 32, 32)]


def classes(n: int) -> list[torch.Tensor]:
    return [torch.randn(n, 32_000), torch.randint(0, 32_000, (n,))]


def distributions(n: int) -> list[torch.Tensor]:
    return [torch.randn(n, 32_000, requires_grad=True), torch.rand(n, 32_000).softmax(-1)]


def before_classes(n: int) -> list[torch.Tensor]:
    return [torch.randn(n, 2048), torch.randint(0, 32_000, (n,))]


def sequences(n: int) -> list[torch.Tensor]:
    return [torch.randn(2, 16, n // 4, 128) for _ in range(3)]


def heads(n: int) -> list[torch.Tensor]:
    return [torch.randn(2, 32, n // 4, 128), torch.randn(2, 8, n // 4, 128)]


OPERATORS = (
    Operator("pointwise", lambda _: Pointwise(4096), rows(4096, 2)),
    Operator("softmax", lambda _: nn.Softmax(-1), rows(4096)),
    Operator("layer_norm", lambda _: nn.LayerNorm(4096), rows(4096)),
    Operator("rms_norm", lambda _: RMSNorm(4096), rows(4096)),
    Operator("group_norm", lambda _: GroupNormSilu(320), images),
    Operator("cross_entropy", lambda _: CrossEntropy(), classes),
    Operator("linear_cross_entropy", lambda _: LinearCrossEntropy(2048, 32_000), before_classes),
    Operator("attention", lambda _: Attention(), sequences),
    Operator("distillation", lambda _: Distillation(), distributions),
    Operator("swiglu", lambda _: Gate("silu"), rows(11_008, 2)),
    Operator("geglu", lambda _: Gate("gelu"), rows(11_008, 2)),
    Operator("rope", lambda n: Rope(n // 4, 128), heads),
    Operator("normed_linear", lambda _: NormedLinear(2048, 8192), rows(2048)),
    Operator("gated_mlp", lambda _: GatedMlp(2048, 5632), rows(2048)),
)


class Steps:
    """The steps of one operator: inputs and cotangents that each step finds as they were drawn."""

    def __init__(self, module: nn.Module, inputs: Sequence[torch.Tensor]) -> None:
        asked = [value for value in inputs if value.requires_grad]
        self.wanted = asked or [value for value in inputs if value.is_floating_point()]
        self.drawn = [value.detach().clone() for value in inputs]
        self.inputs = [value.detach().clone() for value in inputs]
        for value, given in zip(self.inputs, inputs, strict=True):
            value.requires_grad_(any(given is one for one in self.wanted))
        self.weights = [weight for weight in module.parameters() if weight.requires_grad]
        with torch.no_grad():
            results = torch.utils._pytree.tree_leaves(module(*self.inputs))
        self.cotangents = [torch.randn_like(result) for result in results]
        self.used = [value.clone() for value in self.cotangents]

    def renew(self) -> None:
        """Write inputs and cotangents as they were drawn."""
        with torch.no_grad():
            pairs = [*zip(self.inputs, self.drawn, strict=True)]
            for used, drawn in [*pairs, *zip(self.used, self.cotangents, strict=True)]:
                used.copy_(drawn)

    def step(self, forward: Callable[..., Any], weights: Sequence[torch.Tensor]) -> Step:
        """One step of ``forward``, whose weights are ``weights``: its gradients."""
        asked = [value for value in self.inputs if value.requires_grad]

        def run() -> list[torch.Tensor]:
            results = torch.utils._pytree.tree_leaves(forward(*self.inputs))
            return list(torch.autograd.grad(results, [*asked, *weights], self.used))

        return run


def exact_gradients(steps: Steps, module: nn.Module) -> list[torch.Tensor]:
    """The gradients in float64."""
    wide = copy.deepcopy(module).double()
    given = [
        value.detach().double().requires_grad_(used.requires_grad)
        if value.is_floating_point()
        else value
        for value, used in zip(steps.drawn, steps.inputs, strict=True)
    ]
    results = torch.utils._pytree.tree_leaves(wide(*given))
    asked = [value for value in given if value.requires_grad]
    cotangents = [value.to(r.dtype) for value, r in zip(steps.cotangents, results, strict=True)]
    return list(torch.autograd.grad(results, [*asked, *wide.parameters()], cotangents))


def error_of(found: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> float:
    """The largest error relative to the largest number of the same gradient."""
    pairs = zip(found, exact, strict=True)
    return max(
        float((a.double() - b).abs().max() / b.abs().max().clamp_min(1e-30)) for a, b in pairs
    )


class Clock:
    """Times steps on a device, with cold caches."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.flushed = torch.empty(FLUSH_BYTES // 4, device=device)

    def time_s(self, steps: Steps, run: Step) -> float:
        steps.renew()
        self.flushed.zero_()
        if self.device == "cpu":
            start_s = time.perf_counter()
            run()
            return time.perf_counter() - start_s
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(6_000_000)  # the launches of a step are queued before it begins
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3

    def host_s(self, steps: Steps, run: Step) -> float:
        """How long the CPU takes until a step's launches are queued."""
        steps.renew()
        torch.cuda.synchronize()
        start_s = time.perf_counter()
        run()
        return time.perf_counter() - start_s

    def quick_s(self, steps: Steps, module: nn.Module) -> float:
        """The median of a few steps after two that build what is built late."""
        run = steps.step(module, list(module.parameters()))
        return statistics.median([self.time_s(steps, run) for _ in range(N_QUICK)][2:])

    def added_bytes(self, steps: Steps, run: Step) -> int:
        """What a step adds to the peak of allocated memory."""
        if self.device == "cpu":
            return 0
        steps.renew()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before


def ratio(ours: Sequence[float], others: Sequence[float]) -> tuple[float, float, float]:
    """The median of others' time over ours by round, and a bootstrapped 95 % interval."""
    rounds = [b / a for a, b in zip(ours, others, strict=True)]
    drawn = random.Random(0)
    medians = sorted(
        statistics.median(drawn.choices(rounds, k=len(rounds))) for _ in range(N_RESAMPLED)
    )
    low, high = medians[N_RESAMPLED // 40], medians[-N_RESAMPLED // 40]
    return statistics.median(rounds), low, high


@dataclass(frozen=True)
class Ways:
    """How kernels are found."""

    device: str
    budget_s: float
    n_first: int
    n_rows: int
    out: Path

    def search(self, name: str, module: nn.Module, inputs: list) -> tuple[nn.Module, dict]:
        """The module that a search gives, and what is said of it."""
        result = kw.optimize(
            copy.deepcopy(module), inputs, backward=True, device=self.device,
            budget_s=self.budget_s, out=str(self.out / name),
            archive=str(self.out / "archive.sqlite"),
        )  # fmt: skip
        built = kw.build(result, state_dict=module.state_dict())
        best = result.best.candidate.dialect if result.best else f"library: {result.strongest}"
        judged = str(result.evaluation.speedup) if result.evaluation else ""
        return built, {"best": best, "judged": judged, "why": why_none(result)}

    def first(self, module: nn.Module, inputs: list) -> Iterator[tuple[str, nn.Module]]:
        """The first candidates of the rules, with their dialects."""
        task = training_step(kw.load(copy.deepcopy(module), inputs=inputs))
        device = resolve(Device.parse(self.device))
        dialects = ("cpp",) if self.device == "cpu" else ("triton", "cuda")
        brief = Brief(task, device, dialects, threads=torch.get_num_threads(), budget_s=5.0)
        folder = self.out / "first"
        folder.mkdir(exist_ok=True)
        for proposal in itertools.islice(RulesProposer().propose(brief), self.n_first):
            path = folder / f"{proposal.candidate.digest[3:15]}.py"
            path.write_text(proposal.candidate.source)
            built = kw.build(path, state_dict=module.state_dict(), on_miss="raise")
            yield proposal.candidate.dialect, built


def measured(operator: Operator, dtype: torch.dtype, ways: Ways) -> dict:
    """The row of one operator in one dtype."""
    device = ways.device
    n_rows = ways.n_rows or N_ROWS[device.partition(":")[0]]
    module = operator.module(n_rows).to(dtype)
    inputs = [v.to(dtype) if v.is_floating_point() else v for v in operator.inputs(n_rows)]
    name = f"{operator.name}-{dtype}".replace("torch.", "")
    said = {"best": "first", "judged": "", "why": "not judged"}
    if ways.n_first:
        found = [*ways.first(module, list(inputs))]
        if not found:
            raise LookupError("the rules leave all of it to the library")
    else:
        built, said = ways.search(name, module, list(inputs))
        found = [(said["best"], built)]
    module = module.to(device)
    inputs = [v.detach().to(device).requires_grad_(v.requires_grad) for v in inputs]
    steps, clock = Steps(module, inputs), Clock(device)
    ours = [(label, each.to(device)) for label, each in found]
    best, built = min(ours, key=lambda one: clock.quick_s(steps, one[1]))
    forms: dict[str, tuple[Callable[..., Any], Sequence[torch.Tensor]]] = {
        "ours": (built, list(built.parameters())),
        "eager": (module, steps.weights),
        "compile": (torch.compile(module, dynamic=False), steps.weights),
    }
    liger = liger_form(operator.name, module)
    if liger is not None and device != "cpu":
        forms["liger"] = (liger, steps.weights)
    exact = exact_gradients(steps, module)
    runs = {name: steps.step(*form) for name, form in forms.items()}
    errors, times, hosts = {}, {name: [] for name in runs}, {name: [] for name in runs}
    for name, run in runs.items():
        steps.renew()
        errors[name] = error_of(run(), exact)
    for _ in range(N_ROUNDS[device.partition(":")[0]]):
        for name in random.sample(list(runs), len(runs)):
            times[name].append(clock.time_s(steps, runs[name]))
            if device != "cpu":
                hosts[name].append(clock.host_s(steps, runs[name]))
    return {
        "operator": operator.name,
        "dtype": str(dtype).removeprefix("torch."),
        **said,
        "best": best,
        "ms": {name: statistics.median(found) * 1e3 for name, found in times.items()},
        "ratios": {n: ratio(times["ours"], found) for n, found in times.items() if n != "ours"},
        "host_us": {n: statistics.median(found) * 1e6 for n, found in hosts.items() if found},
        "mb": {name: clock.added_bytes(steps, run) / 1e6 for name, run in runs.items()},
        "errors": errors,
    }


def why_none(result: kw.Result) -> str:
    """How many candidates were judged, by status, and why there were no others."""
    statuses = ", ".join(f"{count} {status}" for status, count in result.counts.items())
    refused = [str(verdict.reasons[0]) for _, verdict in result.evaluated if verdict.reasons]
    best = max(
        (verdict.speedup.median for _, verdict in result.evaluated if verdict.speedup), default=0
    )
    said = [statuses or "none judged", f"best {best:.2f} × {result.strongest}", *result.reasons]
    return "; ".join([*said, *refused[:1]])[:600]


def shown(row: dict[str, Any]) -> str:
    """One line of the table."""
    ratios = "  ".join(
        f"{name} {median:.2f} ({low:.2f}–{high:.2f})"
        for name, (median, low, high) in row["ratios"].items()
    )
    memory = " ".join(f"{name} {mb:.0f}" for name, mb in row["mb"].items() if mb)
    host = " ".join(f"{name} {us:.0f}" for name, us in row["host_us"].items())
    error = f"{row['errors']['ours']:.1e} (eager {row['errors']['eager']:.1e})"
    head = f"{row['operator']:20} {row['dtype']:8} {row['best']:20} {row['ms']['ours']:8.3f} ms"
    line = f"{head}  {ratios}  host us: {host or '—'}  MB: {memory or '—'}  error {error}"
    if row["why"] == "not judged":
        return line
    return f"{line}\n    judged: {row['judged'] or row['why']}"


@click.command()
@click.option("--device", default="cpu")
@click.option("--only", multiple=True, help="An operator; repeatable.")
@click.option("--dtype", "dtypes", multiple=True, default=("float32", "bfloat16"))
@click.option("--budget", "budget_s", default=90.0, help="Seconds of each search.")
@click.option("--first", "n_first", default=0, help="Time so many candidates; do not search.")
@click.option("--rows", "n_rows", default=0, help="Rows of an input; 8192 on a GPU, 512 on a CPU.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("training-steps"))
def main(
    device: str,
    only: tuple[str, ...],
    dtypes: tuple[str, ...],
    budget_s: float,
    n_first: int,
    n_rows: int,
    out: Path,
) -> None:
    """Print a row for each operator and dtype, and keep them in OUT/rows.jsonl."""
    out.mkdir(parents=True, exist_ok=True)
    ways = Ways(device, budget_s, n_first, n_rows, out)
    for operator in OPERATORS:
        if only and operator.name not in only:
            continue
        for dtype in dtypes:
            if device == "cpu" and dtype != "float32":
                continue
            torch.manual_seed(0)
            try:
                row = measured(operator, getattr(torch, dtype), ways)
            except Exception as error:  # one operator must not end the table
                said = f"{type(error).__name__}: {error}"
                click.echo(f"{operator.name:20} {dtype:8} {said[:200]}")
                continue
            with (out / "rows.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
            click.echo(shown(row))


if __name__ == "__main__":
    main()
