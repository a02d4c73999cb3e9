"""What goes into the archive comes out equal, and what does not fit is refused."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict, warned

from kernelwright.archive import Archive, without_password
from kernelwright.core.candidate import Candidate, Exemplar
from kernelwright.core.errors import ArchiveError, UsageError
from kernelwright.core.evaluation import Environment, Numerics, Timing
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings


@pytest.fixture
def archive(path):
    with Archive(path) as opened:
        opened.add_task(TASK, [WORKLOAD])
        yield opened


@pytest.fixture
def run(archive):
    return archive.start_run(TASK, Settings())


def test_history_comes_back_equal_after_reopening(archive, run, path):
    first = proposal(lineage=("fuse", "vectorise"), schedule={"tile": [8, 16]}, note="héllo </b>")
    second = proposal("other", parent=first.candidate.digest, input_tokens=5, cost_usd=0.25)
    archive.add_proposal(run, first)
    found = verdict(
        first.candidate, kinds=("kernel",), warnings=(warned("w"),), guarantees=("network",)
    )
    archive.add_evaluation(run, found)
    archive.add_proposal(run, second, [Exemplar(first, found, "parent")])
    refused = verdict(second.candidate, Status.WRONG_VALUES)
    archive.add_evaluation(run, refused)
    archive.finish_run(run)

    with Archive(path, create=False) as again:
        assert again.history(TASK.digest) == [(first, found), (second, refused)]
        assert again.task(TASK.digest) == TASK
        assert again.tasks() == [TASK]
        assert again.lineage(second.candidate.digest) == [first, second]
        (stored,) = again.runs(TASK.digest)
        assert stored.id == run and stored.finished_at and stored.settings["budget_s"] == 60.0


finite = st.floats(allow_nan=False)
series = st.lists(st.none() | st.integers(1, 2**62), min_size=4, max_size=4).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    samples=st.dictionaries(st.text("abcé", min_size=1), series, max_size=3),
    errors=st.none() | st.tuples(finite, finite, finite),
    is_timed=st.booleans(),
    words=st.lists(st.text(), max_size=3).map(tuple),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_any_verdict_comes_back_equal(archive, run, samples, errors, is_timed, words, seed):
    said = proposal()
    archive.add_proposal(run, said)
    timing = Timing(
        samples | {"candidate": (1, 2, 3, 4)},
        "eager",
        "device",
        "warm",
        calls=dict.fromkeys(samples, seed % 256),
        latency_ns=dict.fromkeys(samples, (1, 2)),
        floor_ns=0.5,
        is_queued=is_timed,
    )
    found = verdict(
        said.candidate,
        seed=seed,
        warnings=tuple(map(warned, words)),
        guarantees=words,
        numerics=Numerics(*errors, distributions=words) if errors else None,
        timing=timing if is_timed else None,
    )
    archive.add_evaluation(run, found)
    assert archive.evaluations(candidate=said.candidate.digest)[-1] == found


def test_an_error_that_is_not_a_number_stays_one(archive, run):
    said = proposal()
    archive.add_proposal(run, said)
    numerics = Numerics(math.nan, 0.0, math.inf, ())
    archive.add_evaluation(run, verdict(said.candidate, Status.WRONG_VALUES, numerics=numerics))
    (found,) = archive.evaluations()
    assert math.isnan(found.numerics.max_error) and math.isinf(found.numerics.allowed_error)


def test_history_is_asked_by_device_and_judge_version(archive, run):
    said = proposal()
    archive.add_proposal(run, said)
    here = verdict(said.candidate)
    gpu = replace(here, environment=Environment("cuda:sm_90", {}))
    later = replace(here, judge_version=2)
    for found in (here, gpu, later):
        archive.add_evaluation(run, found)
    asked = archive.history(TASK.digest, device="cpu", judge_version=1)
    assert asked == [(said, here)]
    assert [found for _, found in archive.history(TASK.digest, device="cuda:sm_90")] == [gpu]


def test_the_same_text_twice_is_one_candidate_and_two_proposals(archive, run):
    archive.add_proposal(run, proposal(note="first"))
    archive.add_proposal(run, proposal(note="second"))
    assert [said.note for said in archive.proposals(run=run)] == ["first", "second"]
    assert archive.candidate(proposal().candidate.digest) == proposal().candidate


def test_a_candidate_is_found_by_the_beginning_of_its_digest(archive, run):
    sources = [f"class ModelNew: x = {i}" for i in range(40)]
    for source in sources:
        archive.add_proposal(run, proposal(source))
    wanted = Candidate(sources[7], "cpp")
    assert archive.candidate(wanted.digest[3:]) == wanted
    with pytest.raises(UsageError, match="several candidates"):
        archive.candidate("b2:")
    with pytest.raises(UsageError, match="begins with"):
        archive.candidate("b2:%")


def test_a_verdict_on_what_was_never_proposed_is_refused_whole(archive, run):
    with pytest.raises(ArchiveError, match="points to nothing"):
        archive.add_evaluation(run, verdict(Candidate("unknown", "cpp")))
    assert archive.evaluations() == []


def test_a_workload_may_come_with_its_verdict(path):
    with Archive(path) as archive:
        archive.add_task(TASK)
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, proposal())
        archive.add_evaluation(run, verdict(proposal().candidate), WORKLOAD)
        assert len(archive.evaluations()) == 1


def test_a_run_is_finished_once(archive, run):
    archive.finish_run(run)
    (before,) = archive.runs()
    archive.finish_run(run)
    assert archive.runs() == [before]


SECRETS = {
    "of a user": "postgresql://me:secret@server/kernels",
    "with an at sign": "postgresql://me:se@secret@server/kernels",
    "of the query": "postgresql://me@server/kernels?sslmode=require&password=a%26secret",
    "of a certificate": "postgresql://server/kernels?sslpassword=secret",
    "of a service": "sqlite:///kernels?api_key=secret&Token=secret",
}


@pytest.mark.parametrize("case", SECRETS)
def test_a_password_is_neither_shown_nor_stored(archive, case):
    url = SECRETS[case]
    assert "secret" not in without_password(url)
    archive.start_run(TASK, Settings(archive=url))
    assert "secret" not in str(archive.runs())
