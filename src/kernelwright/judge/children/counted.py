"""The process that Nsight Compute watches: one call of a candidate, after two that warm it up.

Run as ``python -m kernelwright.judge.children.counted FOLDER`` inside a child's sandbox, for
``counters``.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import torch

from kernelwright.judge.children.worker import load_candidate
from kernelwright.judge.machine.entries import anew
from kernelwright.judge.machine.layout import map_tensors

DEVICE = "cuda"


def main() -> None:
    """Call the candidate that ``counters.measure`` wrote down."""
    made = torch.load(Path(sys.argv[1], "made.pt"), weights_only=False)
    with torch.no_grad():
        namespace = load_candidate(made["source"], {})
        module = namespace[made["entry"]](*pickle.loads(made["initial"])).to(DEVICE)
        arguments = map_tensors(lambda tensor: tensor.to(DEVICE), made["arguments"])
        for _ in range(2):
            module(*anew(arguments))
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        module(*anew(arguments))
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()


if __name__ == "__main__":
    main()
