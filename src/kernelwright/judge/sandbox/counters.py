"""Nsight Compute's counters of a candidate's kernels, measured inside the candidate's own child.

The child starts ``ncu``, which runs this file as ``python -m kernelwright.judge.sandbox.counters
FOLDER`` and watches it: one call of the candidate, after two that warm it up. Both processes stay
in the child's sandbox and may do no more than the candidate. It works where the driver lets every
user read counters.

Source:
    Metrics: Nsight Compute documentation, Profiling Guide, Metrics Reference. Rights:
    RmProfilingAdminOnly in /proc/driver/nvidia/params must be 0 (ERR_NVGPUCTRPERM otherwise).
"""

from __future__ import annotations

import csv
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from kernelwright.judge.sandbox.entries import fresh_containers
from kernelwright.judge.sandbox.layout import map_tensors
from kernelwright.judge.sandbox.program import LibrarySetup, Program, load_source

SUFFIX = " (ncu)"
"""The ending of the names of its facts."""
METRICS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory bandwidth, % of peak",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "busiest unit of a multiprocessor, %",
    "lts__t_sector_hit_rate.pct": "L2 hits, %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "active warps, % of what fits",
}
CALL = "call.pt"
"""The file with the program and its arguments."""
N_LAUNCHES = 8
LIMIT_S = 45.0  # starting ncu and torch took 12 s on an H200 machine; some kernels are run 5 times
MAX_BYTES = 512 << 20  # of arguments, which travel through a file


def measure(program: Program, arguments: list[Any]) -> dict[str, dict[str, float]]:
    """The counters of each kernel's launches in one call; empty where ``ncu`` is missing, refused
    or too slow."""
    ncu = shutil.which("ncu")
    sizes: list[int] = []
    map_tensors(lambda tensor: sizes.append(tensor.nbytes), arguments)
    if ncu is None or sum(sizes) > MAX_BYTES:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        given = map_tensors(lambda tensor: tensor.detach().cpu(), arguments)
        torch.save((program, given), Path(folder, CALL))
        command = [ncu, "--csv", "--profile-from-start", "off", "--launch-count", str(N_LAUNCHES)]
        command += ["--metrics", ",".join(METRICS)]
        command += [sys.executable, "-m", "kernelwright.judge.sandbox.counters", folder]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=LIMIT_S
            )
        except subprocess.TimeoutExpired:
            return {}
    return read(done.stdout)


def read(text: str) -> dict[str, dict[str, float]]:
    """The facts of each kernel in the CSV that ``ncu`` prints among other lines; of several
    launches of one kernel, the last."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[start:]):
        name, metric, value = (row.get(k) for k in ("Kernel Name", "Metric Name", "Metric Value"))
        if name and value and metric in METRICS:
            facts = found.setdefault(name, {})
            facts[METRICS[metric] + SUFFIX] = float(value.replace(",", ""))
    return found


def main() -> None:
    """Call the candidate that ``measure`` wrote down."""
    program, arguments = torch.load(Path(sys.argv[1], CALL), weights_only=False)
    with torch.no_grad():
        namespace = load_source(program.source, LibrarySetup())
        module = namespace[program.entry](*pickle.loads(program.initial)).to("cuda")
        arguments = map_tensors(lambda tensor: tensor.to("cuda"), arguments)
        for _ in range(2):
            module(*fresh_containers(arguments))
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        module(*fresh_containers(arguments))
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
