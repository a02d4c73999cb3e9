"""What the judge's child says about a candidate's kernels, for models to read."""

import sys

import pytest
import torch
from tests.host.swarm.candidates import CODE, TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects import reports
from kernelwright.judge import Judge
from kernelwright.judge.kinds import profiling
from kernelwright.judge.sandbox import counters
from kernelwright.judge.sandbox.program import Program

PLAIN = 'extern "C" void run(float* y, long n) { for (long i = 0; i < n; ++i) y[i] *= 2; }'
SCAN = PLAIN.replace("i = 0", "i = 1").replace("y[i] *= 2", "y[i] += y[i - 1]")


@pytest.mark.slow
def test_the_compilers_report_is_kept_with_the_verdict(fork_server):
    task = Task("sigmoid", "kernelbench", TASK)
    with Judge(
        task, settings=Settings(models=("hf:any",), threads=2), fork_server=fork_server
    ) as judge:
        verdict = judge.evaluate(Candidate(CODE, "cpp"))
    assert verdict.passed, verdict.why
    (kernel,) = verdict.profile
    assert kernel.name == "SOURCE"
    assert any(name.startswith("compiler, line") for name in kernel.facts)


@pytest.mark.parametrize(("code", "words"), [(PLAIN, "loop vectorized"), (SCAN, "couldn't")])
def test_a_loop_is_vectorised_or_it_is_said_why_not(code, words):
    said = reports.compiled({"SOURCE": code})["SOURCE"]
    assert any(words in str(remark) for remark in said.values())


class Liar:
    """A child that says what it likes."""

    def __init__(self, said):
        self.said = said

    def resources(self, arguments, *, counted):
        return self.said


class Oracle:
    first_arguments = ()


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"compiled": [], "launches": [], "counters": {}},
        {"compiled": {"k": "facts"}, "launches": [], "counters": {}},
        {"compiled": {}, "launches": [["k", "soon", {}]], "counters": {}},
        {"compiled": {}, "launches": [["k", 10**400, {}]], "counters": {}},
        {"compiled": {"k": {"registers": float("nan")}}, "launches": [], "counters": {}},
    ],
)
def test_nonsense_is_no_profile(said):
    assert profiling.of(Liar(said), Oracle()) == ()


def test_a_flood_is_cut():
    facts = {f"fact {n}" * 100: "x" * 10_000 for n in range(1000)}
    said = {
        "compiled": {f"c{n}": facts for n in range(100)},
        "launches": [[f"k{n % 50}" * 1000, n, facts] for n in range(200)],
        "counters": {f"k{n}": facts for n in range(100)},
    }
    found = profiling.of(Liar(said), Oracle())
    assert len(found) == profiling.N_KERNELS and len(str(found)) < 100_000


def test_launches_of_one_kernel_are_added_and_meet_its_compilers_facts():
    said = {
        "compiled": {"add": {"spilled registers": 4}, "other": {"registers a thread": 8}},
        "launches": [["add", 1000.0, {"grid": "8 × 1 × 1"}], ["add", 2000.0, {}]],
        "counters": {"add": {"L2 hits, % (ncu)": 34.3}},
    }
    add, other = profiling.of(Liar(said), Oracle())
    assert (add.name, add.time_ns, add.n_calls) == ("add", 3000.0, 2)
    assert add.facts == {
        "spilled registers": 4.0,
        "L2 hits, % (ncu)": 34.3,
        "grid": "8 × 1 × 1",
    }
    assert (other.name, other.n_calls) == ("other", 0)


def test_counters_are_read_from_the_output_of_ncu():
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",'
    head += '"Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit",'
    one = '"0","5","python3","127.0.0.1","add","1","7","(128, 1, 1)","(16384, 1, 1)","0","9.0","C",'
    lines = [
        "==PROF== Connected to process 5 (/usr/bin/python3)",
        head + '"Metric Value"',
        one + '"dram__throughput.avg.pct_of_peak_sustained_elapsed","%","87.40"',
        one + '"gpu__time_duration.sum","ns","62,816"',
        one + '"lts__t_sector_hit_rate.pct","%","1,034.32"',
    ]
    assert counters.read("\n".join(lines)) == {
        "add": {"memory bandwidth, % of peak (ncu)": 87.4, "L2 hits, % (ncu)": 1034.32}
    }
    assert counters.read("==ERROR== ERR_NVGPUCTRPERM") == {}


def test_ncu_watches_the_candidate_with_its_arguments(tmp_path, monkeypatch):
    """A program of that name that looks at what it is given, and prints one row."""
    script = tmp_path / "ncu"
    script.write_text(
        f"#!{sys.executable}\n"
        "import sys, torch\n"
        "program, arguments = torch.load(sys.argv[-1] + '/call.pt', weights_only=False)\n"
        "assert program.entry == 'ModelNew' and program.source == 'text'\n"
        "assert arguments[0].shape == (3,)\n"
        "assert sys.argv[-2] == 'kernelwright.judge.sandbox.counters'\n"
        'print(\'"ID","Kernel Name","Metric Name","Metric Value"\')\n'
        'print(\'"0","add","lts__t_sector_hit_rate.pct","5.5"\')\n'
    )
    script.chmod(0o755)
    program = Program("text", "ModelNew", b"", seed=0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert counters.measure(program, [torch.zeros(3)]) == {"add": {"L2 hits, % (ncu)": 5.5}}
    script.unlink()
    assert counters.measure(program, [torch.zeros(3)]) == {}
