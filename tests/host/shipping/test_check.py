"""Packages are judged as they are. Nothing is timed here; the speeds below are made up."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from tests.host.relu_task import RIGHT, TASK
from tests.host.shipping.conftest import receipt_of
from tests.null.archive.nouns import verdict

import kernelwright as kw
from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import Timing
from kernelwright.core.outcome import Status
from kernelwright.shipping.check import Checked, check, write_junit
from kernelwright.shipping.package import package_at

LAYERS = """
import torch
from torch import nn
from .ops import relu

class First(nn.Module):
    has_backward = False
    def forward(self, x):
        return relu(x)

class Second(nn.Module):
    def forward(self, x):
        return -relu(x)
"""
OPS = "import torch\n\n\ndef relu(x):\n    return torch.clamp(x, min=0) * 2 + 1\n"
METADATA = {"name": "relu", "id": "relu_cpu_1", "version": 1, "license": "MIT"}
SOLUTION = {
    "name": "mine", "definition": "relu", "author": "me",
    "spec": {"language": "python", "target_hardware": ["cpu"], "entry_point": "main.py::run"},
    "sources": [
        {"path": "main.py", "content": "from .sub.ops import relu\n\ndef run(x, out):\n"
         "    out.copy_(relu(x))\n"},
        {"path": "sub/ops.py", "content": OPS},
    ],
}  # fmt: skip
UNTIMED = {"threads": 1, "device": "cpu", "timed": False}


@pytest.fixture
def relu(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return kw.load(path)


def layers(folder):
    """A package as somebody else would write it, with two layers."""
    build = folder / "build" / "torch-cpu"
    build.mkdir(parents=True)
    files = {"__init__.py": "from . import layers\n", "layers.py": LAYERS, "ops.py": OPS}
    files["metadata.json"] = json.dumps(METADATA)
    for name, text in files.items():
        (build / name).write_text(text)
    return folder


def test_somebodys_layer_is_judged(relu, tmp_path, few_settings):
    package = layers(tmp_path / "package")
    assert kw.judge(relu, package, entry="First", **UNTIMED).passed
    wrong = kw.judge(relu, package, entry="Second", **UNTIMED)
    assert wrong.status is Status.WRONG_VALUES
    with pytest.raises(kw.KernelwrightError, match="First, Second"):
        kw.judge(relu, package)


def test_somebodys_solution_is_judged(relu, tmp_path, few_settings):
    path = tmp_path / "solution.json"
    path.write_text(json.dumps(SOLUTION))
    assert kw.judge(relu, path, **UNTIMED).passed
    compiled = SOLUTION | {"spec": SOLUTION["spec"] | {"language": "cuda"}}
    path.write_text(json.dumps(compiled))
    with pytest.raises(kw.KernelwrightError, match="a solution in cuda"):
        kw.judge(relu, path)


@pytest.mark.parametrize("to", ["op", "hf", "fib"])
def test_an_exported_package_is_judged_by_its_kernel(task, receipt, packages, to):
    package = package_at(packages[to])
    assert package is not None and package.kind == to and package.receipt == receipt
    assert package.candidate(task).dialect == "cpp"


@pytest.mark.parametrize("to", ["op", "hf", "fib"])
def test_an_exported_package_is_right_until_its_file_is_changed(
    receipt, tmp_path, few_settings, to
):
    package = kw.export(receipt, to=to, out=tmp_path / to)
    found = check(package, UNTIMED)
    assert found.rightness == "right", found.why
    for path in (p for p in package.rglob("*") if p.suffix in (".py", ".json")):
        if path.name != "receipt.json":
            path.write_text(path.read_text().replace("sigmoid_1 * c_2", "sigmoid_1 + c_2"))
    assert check(package, UNTIMED).rightness == "wrong"


def test_one_bad_package_does_not_stop_the_others(relu, tmp_path, few_settings):
    receipt = receipt_of(relu, Candidate(RIGHT, "torch"))
    receipt.write(tmp_path / "r.json")
    (tmp_path / "kernel.py").write_text(RIGHT)
    (tmp_path / "other.py").write_text(f"{RIGHT}\n# not the one that was judged")
    places = [tmp_path / name for name in ("gone", "other.py", "kernel.py")]
    done = [check(place, UNTIMED) for place in places]
    assert [one.rightness for one in done] == ["not judged", "not judged", "right"]
    assert "nothing there" in done[0].why and "no receipt of this text" in done[1].why
    write_junit(done, tmp_path / "junit.xml")
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    assert suite.get("tests") == "3" and int(suite.get("errors")) >= 2
    assert [case.get("name") for case in suite] == list(map(str, places))


def faster_by(receipt, factor):
    """The receipt's repetition, in which the kernel is so many times as fast as the library."""
    series = {"candidate": (100,) * 8, "eager": (round(100 * factor),) * 8}
    timing = Timing(series, "eager", clock="parent", cache="cold")
    return kw.Repetition(receipt, replace(receipt.evaluation, timing=timing))


def test_junit_tells_wrong_and_slower_from_what_was_not_measured(receipt, tmp_path):
    failed = verdict(receipt.candidate, Status.INFRA_ERROR, task=receipt.task.digest)
    done = [
        Checked(tmp_path / "fast", faster_by(receipt, 2)),
        Checked(tmp_path / "slow", faster_by(receipt, 0.5)),
        Checked(tmp_path / "broken", kw.Repetition(receipt, failed)),
    ]
    assert [one.stands for one in done] == [True, False, False]
    assert [one.speed for one in done[:2]] == ["faster", "slower"]
    write_junit(done, tmp_path / "junit.xml")
    (suite,) = ET.parse(tmp_path / "junit.xml").getroot()
    kinds = [[child.tag for child in case if child.tag != "system-out"] for case in suite]
    assert kinds == [[], ["failure"], ["error"]]
