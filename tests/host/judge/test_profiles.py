"""What the judge's child says about a candidate's kernels, for models to read."""

import pytest
from tests.host.swarm.candidates import CODE, TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, profiling, resources

PLAIN = 'extern "C" void run(float* y, long n) { for (long i = 0; i < n; ++i) y[i] *= 2; }'
SCAN = PLAIN.replace("i = 0", "i = 1").replace("y[i] *= 2", "y[i] += y[i - 1]")


def test_what_the_compiler_vectorised_is_kept_with_the_verdict():
    task = Task("sigmoid", "kernelbench", TASK)
    with Judge(task, settings=Settings(models=("hf:any",), threads=2)) as judge:
        verdict = judge.evaluate(Candidate(CODE, "cpp"))
    assert verdict.passed, verdict.reasons
    (kernel,) = verdict.profile
    assert kernel.name == "SOURCE"
    assert any(name.startswith("compiler, line") for name in kernel.facts)


@pytest.mark.parametrize(("code", "words"), [(PLAIN, "loop vectorized"), (SCAN, "couldn't")])
def test_a_loop_is_vectorised_or_it_is_said_why_not(code, words):
    said = resources.compiled({"SOURCE": code})["SOURCE"]
    assert any(words in str(remark) for remark in said.values())


class Liar:
    """A child that says what it likes."""

    def __init__(self, said):
        self.said = said

    def resources(self, arguments):
        return self.said


class Oracle:
    first_arguments = ()


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"compiled": [], "launches": []},
        {"compiled": {"k": "facts"}, "launches": []},
        {"compiled": {}, "launches": [["k", "soon", {}]]},
        {"compiled": {}, "launches": [["k", 10**400, {}]]},
        {"compiled": {"k": {"registers": float("nan")}}, "launches": []},
    ],
)
def test_nonsense_is_no_profile(said):
    assert profiling.of(Liar(said), Oracle()) == ()


def test_a_flood_is_cut():
    facts = {f"fact {n}" * 100: "x" * 10_000 for n in range(1000)}
    said = {
        "compiled": {f"c{n}": facts for n in range(100)},
        "launches": [[f"k{n % 50}" * 1000, n, facts] for n in range(200)],
    }
    found = profiling.of(Liar(said), Oracle())
    assert len(found) == profiling.N_KERNELS and len(str(found)) < 100_000


def test_launches_of_one_kernel_are_added_and_meet_its_compilers_facts():
    said = {
        "compiled": {"add": {"spilled registers": 4}, "other": {"registers a thread": 8}},
        "launches": [["add", 1000.0, {"grid": "8 × 1 × 1"}], ["add", 2000.0, {}]],
    }
    add, other = profiling.of(Liar(said), Oracle())
    assert (add.name, add.time_ns, add.n_calls) == ("add", 3000.0, 2)
    assert add.facts == {"spilled registers": 4.0, "grid": "8 × 1 × 1"}
    assert (other.name, other.n_calls) == ("other", 0)
