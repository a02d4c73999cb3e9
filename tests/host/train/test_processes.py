"""A stage in two processes, as on several GPUs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="needs kernelwright[train]")
from tests.host.train import tiny
from tests.host.train.test_stages import PAIRS

from kernelwright.dataset.pairs import write_pairs

# With --cpu accelerate starts one process, whatever it is told; with --multi_gpu two, on CPUs too.
LAUNCH = [
    sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
    "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "-m",
]  # fmt: skip


@pytest.mark.slow
def test_two_processes_share_the_lessons_and_leave_one_checkpoint(tmp_path):
    write_pairs(PAIRS, tmp_path / "pairs")
    told = {
        "model": tiny.save(tmp_path / "tiny"), "dataset": tmp_path / "pairs", "dialect": "cpp",
        "rank": 0, "steps": 2, "batch": 2, "max-tokens": 3, "max-prompt-tokens": 8000,
        "out": tmp_path / "out",
    }  # fmt: skip
    options = [text for key, value in told.items() for text in (f"--{key}", str(value))]
    done = subprocess.run(
        [*LAUNCH, "kernelwright", "train", "sft", *options, "--json"],
        env=os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-12_000:]
    assert json.loads(done.stdout)["steps"] == 2  # said once
    assert (tmp_path / "out/sft/model/config.json").is_file()
    lines = (tmp_path / "out/sft/curve.jsonl").read_text().splitlines()
    steps = [line for line in map(json.loads, lines) if "loss" in line]
    assert [line["step"] for line in steps] == [1, 2]
    assert [line["epoch"] for line in steps] == [1, 2]  # two of the four lessons for each process
