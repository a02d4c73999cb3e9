"""A search tries many candidates, judges the best few, and tries none of them again.

It ends long before its budget, when no gain is expected.
"""

from pathlib import Path

import pytest

from kernelwright.archive import Archive
from kernelwright.core.settings import Settings
from kernelwright.core.trial import TrialOutcome
from kernelwright.loaders import load
from kernelwright.search.loop import optimize
from kernelwright.tuner.trials import TUNER_VERSION

TASK = Path(__file__).parents[3] / "src/kernelwright/suites/builtin/layer_norm"


@pytest.fixture(scope="module")
def task():
    [path] = TASK.glob("*.py")
    return load(path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_second_search_tries_none_again(tmp_path, task, fork_server, few_settings):
    url = str(tmp_path / "archive.sqlite")
    settings = Settings(archive=url, out=str(tmp_path), dialects=("cpp",), budget_s=120.0)
    seen = []
    first = optimize(task, settings=settings, on_progress=seen.append, fork_server=fork_server)
    judged = {proposal.candidate.digest for proposal, _ in first.evaluated}
    with Archive(url) as archive:
        trials = _trials(archive, first)
    measured = {t.candidate for t in trials if t.outcome is TrialOutcome.MEASURED}
    assert judged <= measured
    assert 2 * len(judged) < len(measured)
    assert max(progress.n_trials for progress in seen) == len(trials)
    assert all(trial.outline and trial.expected_ns for trial in trials)
    second = optimize(task, settings=settings, on_progress=seen.append, fork_server=fork_server)
    if first.best is not None:  # it is there at once, with the date of its verdict
        assert any("the search goes on" in progress.doing for progress in seen)
    with Archive(url) as archive:
        again = _trials(archive, second)
    names = [trial.candidate for trial in again]
    assert len(names) == len(set(names)) >= len(trials)


def _trials(archive, result):
    _, found = result.evaluated[0]
    return archive.trials(
        result.task.digest, environment=found.environment.digest, version=TUNER_VERSION
    )
