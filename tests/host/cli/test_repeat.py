"""Verdicts are written down and repeated; a false claim does not stand."""

import json
from dataclasses import replace

import pytest
from tests.host.relu_task import RIGHT, TASK

import kernelwright as kw
from kernelwright.archive.receipt import Receipt
from kernelwright.core.evaluation import Timing


def faster(receipt):
    """The receipt of somebody who claims a hundred times the speed."""
    found = receipt.evaluation
    series = dict(found.timing.samples_ns)
    series["candidate"] = tuple(max(1, ns // 100) for ns in series["candidate"])
    timing = Timing(series, found.timing.strongest, found.timing.clock, found.timing.cache)
    return replace(receipt, evaluation=replace(found, timing=timing))


@pytest.mark.slow
def test_a_false_claim_does_not_stand(folder, kernelwright):
    done = kernelwright("judge", "task.py", "right.py", "--receipt", "r.json", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["receipt"] == "r.json"
    receipt = Receipt.read(folder / "r.json")
    assert receipt.task.source == TASK and receipt.candidate.source == RIGHT
    faster(receipt).write(folder / "claim.json")
    done = kernelwright("judge", "task.py", "--repeat", "claim.json", "--json")
    again = json.loads(done.stdout)
    assert done.returncode == 1 and again["stands"] is False
    assert again["verdict"]["status"] == "passed"
    assert again["verdict"]["seed"] != again["receipt"]["seed"]
    (difference,) = again["differences"]
    assert "moved by -9" in difference


def test_a_refusal_is_repeated_from_python(folder):
    verdict = kw.judge(folder / "task.py", folder / "wrong.py", receipt=folder / "r.json")
    again = kw.repeat(folder / "r.json")
    assert verdict.status == "wrong_values" and again.stands
