"""Nsight Compute's counters of a candidate's kernels, measured inside the candidate's own child.

``ncu`` and the process that it watches are started by the child, so both stay in its sandbox: they
may do no more than the candidate. It works where the driver lets every user read counters.

Source:
    Metrics: Nsight Compute documentation, Profiling Guide, Metrics Reference. Rights:
    RmProfilingAdminOnly in /proc/driver/nvidia/params must be 0 (ERR_NVGPUCTRPERM otherwise).
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from kernelwright.judge.machine.layout import map_tensors

SUFFIX = " (ncu)"
"""How the names of its facts end."""
METRICS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory bandwidth, % of peak",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "busiest unit of a multiprocessor, %",
    "lts__t_sector_hit_rate.pct": "L2 hits, %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "active warps, % of what fits",
}
N_LAUNCHES = 8
LIMIT_S = 45.0  # starting ncu and torch took 12 s on an H200 machine; some kernels are run 5 times
MAX_BYTES = 512 << 20  # of arguments, which travel through a file


def measure(made: dict[str, Any], arguments: list[Any]) -> dict[str, dict[str, float]]:
    """By kernel, what the counters say about its launches in one call; empty where ``ncu`` is
    missing, refused or too slow.

    ``made`` is the candidate's 'source', its 'entry' and its pickled constructor arguments,
    'initial'.
    """
    program = shutil.which("ncu")
    sizes: list[int] = []
    map_tensors(lambda tensor: sizes.append(tensor.nbytes), arguments)
    if program is None or sum(sizes) > MAX_BYTES:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        given = map_tensors(lambda tensor: tensor.detach().cpu(), arguments)
        torch.save(made | {"arguments": given}, Path(folder, "made.pt"))
        options = ["--csv", "--profile-from-start", "off", "--launch-count", str(N_LAUNCHES)]
        options += ["--metrics", ",".join(METRICS)]
        watched = [sys.executable, "-m", "kernelwright.judge.children.counted", folder]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        try:
            done = subprocess.run(
                [program, *options, *watched],
                env=environment, capture_output=True, text=True, timeout=LIMIT_S,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}
    return read(done.stdout)


def read(text: str) -> dict[str, dict[str, float]]:
    """By kernel, the facts in the CSV that ``ncu`` prints among other lines; of several launches
    of one kernel, the last."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[start:]):
        name, metric, value = (row.get(k) for k in ("Kernel Name", "Metric Name", "Metric Value"))
        if name and value and metric in METRICS:
            facts = found.setdefault(name, {})
            facts[METRICS[metric] + SUFFIX] = float(value.replace(",", ""))
    return found
