"""Where a cluster stops scaling: searches on many GPUs, simulated with measured service times.

    pip install simpy
    python benchmarks/cluster_simulation.py --archive kb.sqlite [--gpus 16,64,512]

A search takes a share of a GPU and of its host's cores, sets up, and has its candidates built (on
cores), checked (several at a time on a GPU) and timed (alone on the GPU). It reads from the archive
when it begins, and appends each proposal, verdict and batch of trials. Its steps go to one process
on the head node. Times of building, checking and timing are drawn from the verdicts of --archive,
and set-up from its runs. The rest is assumed; docs/concepts/scale.md lists it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import click
import simpy

from kernelwright.archive import Archive
from kernelwright.core.evaluation import Cost
from kernelwright.judge.devices.gpu import MOST_JUDGES
from kernelwright.workers.slots import searches_a_gpu

GPUS_A_HOST = 8
CHECKED_AT_ONCE = MOST_JUDGES
"""Candidates that a GPU checks at a time; timing takes all of these places."""
WARM_UP_S, MEASURED_S = 120.0, 300.0


@dataclass(frozen=True)
class Costs:
    """Service times in seconds, and how often they are needed."""

    verdicts: tuple[Cost, ...]
    set_up_s: tuple[float, ...]
    cores_a_gpu: int = 9
    append_s: float = 0.0011
    read_s: float = 0.0011
    connections: int = 8
    """Transactions that the archive's server does at a time: its cores. The times above are those
    of its processor, as ``archive_size.py`` measures them."""
    n_reads: int = 12
    """Queries at the beginning of a search."""
    n_appends: int = 10
    """Appends of a search besides two for each verdict: its run, and batches of trials."""
    n_verdicts: int = 1
    submit_s: float = 0.002
    step_s: float = 0.0002
    steps_a_s: float = 1.0
    """Steps that a search tells each second."""


@dataclass
class Cluster:
    """The resources, and how long each was busy."""

    costs: Costs
    n_gpus: int
    clock: simpy.Environment = field(default_factory=simpy.Environment)
    n_judged: int = 0

    def __post_init__(self) -> None:
        n_hosts = -(-self.n_gpus // GPUS_A_HOST)
        cores = self.costs.cores_a_gpu * min(self.n_gpus, GPUS_A_HOST)
        self.n_searches = searches_a_gpu(self.costs.cores_a_gpu)
        self.gpus = [
            simpy.Container(self.clock, CHECKED_AT_ONCE, CHECKED_AT_ONCE)
            for _ in range(self.n_gpus)
        ]
        self.timers = [simpy.Resource(self.clock) for _ in range(self.n_gpus)]
        self.cores = [simpy.Resource(self.clock, cores) for _ in range(n_hosts)]
        self.archive = simpy.Resource(self.clock, self.costs.connections)
        self.head = simpy.Resource(self.clock)
        self.busy_s = dict.fromkeys(("gpu", "cores", "archive", "head"), 0.0)
        self.draw = random.Random(0)

    def note(self, name: str, took_s: float) -> None:
        if self.clock.now > WARM_UP_S:
            self.busy_s[name] += took_s

    def use(self, name: str, resource: simpy.Resource, took_s: float) -> Iterator[Any]:
        with resource.request() as turn:
            yield turn
            yield self.clock.timeout(took_s)
        self.note(name, took_s)

    def transactions(self, n: int, each_s: float) -> Iterator[Any]:
        """Transactions one after the other, on one connection."""
        yield from self.use("archive", self.archive, self.draw.gammavariate(n, each_s))

    def on_gpu(self, gpu: int, places: int, took_s: float) -> Iterator[Any]:
        """Check on one place of a GPU, or time on all of them."""
        if places == 1:
            yield self.gpus[gpu].get(1)
        else:  # one at a time collects places, so that two do not wait for each other
            with self.timers[gpu].request() as turn:
                yield turn
                for _ in range(places):
                    yield self.gpus[gpu].get(1)
        yield self.clock.timeout(took_s)
        yield self.gpus[gpu].put(places)
        self.note("gpu", took_s * places / CHECKED_AT_ONCE)

    def searches(self, gpu: int) -> Iterator[Any]:
        """One search after the other on a share of a GPU."""
        costs, cores = self.costs, self.cores[gpu // GPUS_A_HOST]
        yield self.clock.timeout(self.draw.uniform(0, 30.0))
        while True:
            yield from self.use("head", self.head, costs.submit_s)
            yield from self.transactions(costs.n_reads, costs.read_s)
            yield from self.use("cores", cores, self.draw.choice(costs.set_up_s))
            yield from self.transactions(costs.n_appends, costs.append_s)
            for _ in range(costs.n_verdicts):
                cost = self.draw.choice(costs.verdicts)
                yield from self.use("cores", cores, cost.build_s)
                yield from self.on_gpu(gpu, 1, cost.check_s)
                yield from self.on_gpu(gpu, CHECKED_AT_ONCE, cost.time_s)
                yield from self.transactions(2, costs.append_s)
                self.n_judged += self.clock.now > WARM_UP_S

    def steps(self) -> Iterator[Any]:
        """The steps that all searches tell, a second's at a time."""
        rate = self.costs.steps_a_s * self.n_gpus * self.n_searches
        while True:
            began_s = self.clock.now
            yield from self.use("head", self.head, rate * self.costs.step_s)
            yield self.clock.timeout(max(0.0, began_s + 1 - self.clock.now))

    def run(self) -> dict[str, float]:
        """Verdicts a second, and the share of the time that each resource was busy."""
        for gpu in range(self.n_gpus):
            for _ in range(self.n_searches):
                self.clock.process(self.searches(gpu))
        self.clock.process(self.steps())
        self.clock.run(WARM_UP_S + MEASURED_S)
        n_cores = sum(each.capacity for each in self.cores)
        capacity = {"gpu": self.n_gpus, "cores": n_cores, "head": 1}
        capacity["archive"] = self.costs.connections
        shares = {name: busy / capacity[name] / MEASURED_S for name, busy in self.busy_s.items()}
        return {"verdicts_per_s": self.n_judged / MEASURED_S} | shares


def costs_of(url: str) -> Costs:
    """The service times that an archive holds."""
    with Archive(url, create=False) as archive:
        verdicts = [
            found for task in archive.tasks() for found in archive.evaluations(task=task.digest)
        ]
        runs = [run for run in archive.runs() if run.finished_at]
    timed = tuple(found.cost for found in verdicts if found.cost.time_s)
    mean_s = sum(cost.build_s + cost.check_s + cost.time_s for cost in timed) / len(timed)
    n_each = max(1.0, len(timed) / len(runs))
    took_s = [
        (
            datetime.fromisoformat(run.finished_at or "") - datetime.fromisoformat(run.started_at)
        ).total_seconds()
        for run in runs
    ]
    set_up_s = tuple(max(1.0, each - n_each * mean_s) for each in took_s)
    return Costs(timed, set_up_s, n_verdicts=round(n_each))


@click.command(help=__doc__)
@click.option("--archive", "url", required=True, help="Take service times from this archive.")
@click.option("--gpus", default="16,64,512,1024", show_default=True)
@click.option("--append-ms", default=1.1, show_default=True, help="One append at the archive.")
@click.option("--read-ms", default=1.1, show_default=True, help="One query at the archive.")
@click.option("--step-ms", default=0.2, show_default=True, help="One step at the head.")
def main(url: str, gpus: str, append_ms: float, read_ms: float, step_ms: float) -> None:
    times = {"append_s": append_ms / 1e3, "read_s": read_ms / 1e3, "step_s": step_ms / 1e3}
    measured = replace(costs_of(url), **times)
    variants = {
        "every step is told": replace(measured, steps_a_s=3.0),
        "as it is": measured,
        "archive of 32 cores": replace(measured, connections=32),
        "18 cores a GPU": replace(measured, cores_a_gpu=18),
        "4 cores a GPU": replace(measured, cores_a_gpu=4),
    }
    names = ("GPUs", "verdicts/s", "of linear", "gpu", "cores", "archive", "head")
    click.echo(f"{'':22}" + "".join(f"{name:>11}" for name in names))
    for name, costs in variants.items():
        first = 0.0
        for n_gpus in map(int, gpus.split(",")):
            found = Cluster(costs, n_gpus).run()
            rate = found["verdicts_per_s"]
            first = first or rate / n_gpus
            shares = [rate / n_gpus / first, *(found[each] for each in names[3:])]
            told = "".join(f"{share:>11.0%}" for share in shares)
            click.echo(f"{name:22}{n_gpus:>11}{rate:>11.1f}{told}")


if __name__ == "__main__":
    main()
