"""benchmarks/swarm.py as a user calls it, with the real judge and a server of scripted answers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.host.swarm.candidates import RIGHT, TASK, WRONG
from tests.null.swarm.scripted import say

PROGRAM = Path(__file__).parents[3] / "benchmarks" / "swarm.py"


@pytest.fixture
def compare(tmp_path, scripted):
    """Compare two models on one task without timing; return (rows, printed text)."""
    level = tmp_path / "level1"
    level.mkdir()
    (level / "1_Gate.py").write_text(TASK)
    address = scripted.model.partition("#")[0]

    def run(*more):
        words = ["--suite", "kernelbench", "--path", str(tmp_path), "--level", "1"]
        words += [word for name in "ab" for word in ("--model", f"{address}#{name}")]
        words += ["--dialect", "cpp", "--untimed", "--budget", "500tok", "--budget", "60s"]
        words += ["--context", "reference,verdicts", "--ablate", "verdicts", "--out", "out", *more]
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        lines = (tmp_path / "out" / "rows.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines], done.stdout

    return run


def test_every_column_is_measured_once_and_compared_by_task(compare, scripted):
    scripted.script = [say(WRONG), say(RIGHT)]
    rows, printed = compare("--total", "300s")
    assert [row["column"] for row in rows] == ["a", "b", "swarm", "swarm without verdicts"]
    assert all(row["passed"] and not row["timed"] and row["best"] is None for row in rows)
    asked = {name for row in rows[2:] for name in row["asked_of"]}
    assert asked and asked <= {"a", "b"}  # which of them few questions go to is drawn
    assert "not timed" in printed and "1/1 (21–100 %)" in printed
    assert "swarm against a: +0 points of 1 tasks" in printed

    n_asked = len(scripted.requests)
    again, printed_again = compare()
    assert again == rows and len(scripted.requests) == n_asked and printed_again == printed
