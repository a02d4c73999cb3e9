"""An exported operator package is installed by pip and runs in a process of its own."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import torch
from gate import Gate, operators

module = Gate(128, 1.5).eval()
x = torch.randn(64, 128)
h = x * torch.sigmoid(x) * 1.5
with torch.no_grad():
    assert module.why_not(x) == ""
    expected = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5) * module.weight
    torch.testing.assert_close(module(x), expected)
(name,) = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("gate::")]
operator = getattr(operators, name.removeprefix("gate::")).default
given = (x, module.weight.detach(), 64)  # the last is the number of rows
torch.library.opcheck(operator, given)
exported = torch.export.export(module, (x,)) if torch.__version__ >= "2.13" else None
"kernelwright" in sys.modules and sys.exit("the package needs kernelwright")
"""


def test_pip_installs_it_and_its_operators_pass_opcheck(packages, tmp_path):
    pytest.importorskip("setuptools", minversion="77")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    run(tmp_path, "-m", "pip", "install", *options, "--target", tmp_path, packages["op"])
    run(tmp_path, "-c", PROGRAM)


def run(folder, *words):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_license_provenance_and_receipt_are_inside_every_package(packages, receipt):
    for to, where in (("op", "src/gate"), ("hf", "build/torch-cpu"), ("fib", ".")):
        told = json.loads((packages[to] / where / "provenance.json").read_text())
        written = json.loads((packages[to] / where / "receipt.json").read_text())
        assert told["license"] == "Apache-2.0" and told["dialect"] == "cpp"
        assert told["receipt"] == written["digest"]
        assert told["candidate"] == receipt.candidate.digest == written["candidate"]["digest"]
        assert told["task"]["digest"] == receipt.task.digest
        assert told["judge_version"] == 1 and told["device"] == "cpu"


def test_the_shipped_text_is_the_judged_one_but_for_the_operators_namespace(packages, receipt):
    first, _, text = (packages["op"] / "src/gate/kernel.py").read_text().partition("\n")
    assert first == "# SPDX-License-Identifier: Apache-2.0"
    judged = receipt.candidate.source.splitlines()
    changed = [pair for pair in zip(text.splitlines(), judged, strict=True) if pair[0] != pair[1]]
    assert len(changed) == 1 and '"gate"' in changed[0][0]
