"""Every part of the context changes the prompt, and a prompt contains only its parts."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.null.swarm.briefs import BRIEF, TASK, call, candidate, proposal, verdict

from kernelwright.core.candidate import Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import KernelProfile
from kernelwright.proposers.swarm import prompt
from kernelwright.proposers.swarm.context import DEFAULT, PARTS, parse_contexts, trimmed
from kernelwright.proposers.swarm.device_facts import facts
from kernelwright.proposers.swarm.question import Question, next_question

PARENT, SLOW, WRONG = proposal("the parent"), proposal("slow one"), proposal("wrong one")
CUDA = Proposal(candidate("in cuda", "cuda"), "rules")
SEEN = KernelProfile(
    "run",
    2e6,
    3,
    {"registers a thread": 32, "compiler, line 4": "vectorized", "L2 hits, % (ncu)": 34.3},
)
HISTORY = (
    (PARENT, replace(verdict(PARENT.candidate, 1.5), profile=(SEEN,))),
    (WRONG, verdict(WRONG.candidate, reason="element [3] is off")),
)
FULL = replace(
    BRIEF,
    history=HISTORY,
    exemplars=(Exemplar(SLOW, verdict(SLOW.candidate, 0.5), "worse"),),
    elsewhere=((CUDA, verdict(CUDA.candidate, 2.0, device="cuda:sm_90")),),
    attached=(str(Path(__file__).with_name("profile.txt")), "trace.png"),
    calls=(call(1, purpose="advise", parent=PARENT.candidate.digest, answer="Try tiles."),),
)
QUESTION = Question("optimise", "cpp", HISTORY[0])
SAYS = {
    "reference": "return torch.relu(x)",
    "verdicts": "element [3] is off",
    "exemplars": "slow one",
    "other-dialect": "in cuda",
    "device": "threads that candidates run with",
    "profile": "aten::",
    "roofline": "of the speed of a copy",
    "kernels": "registers a thread: 32",
    "counters": "run: L2 hits, %: 34.3",
    "attached": "kernels wait 80 % of the time",
    "advice": "Try tiles.",
}


def text(parts, brief=FULL, question=QUESTION):
    return "\n".join(said for _, said in prompt.generator(brief, question, parts))


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_switched(part):
    others = [name for name in PARTS if name != part]
    assert SAYS[part] in text([part]) and SAYS[part] not in text(others)


def test_every_prompt_states_the_interface_and_the_form():
    said = text([])
    assert "def __init__(self, width, eps=1e-05)" in said and "def forward(self, x)" in said
    assert "ctypes.CDLL" in said and "## Performance analysis" in said and "ModelNew" in said


def test_a_repair_shows_what_was_wrong():
    said = text(["verdicts"], question=Question("repair", "cpp", HISTORY[1]))
    assert "was not right" in said and "element [3] is off" in said and "wrong one" in said


def test_the_analyst_is_asked_for_prose_about_the_kernel():
    (_, told), (_, asked) = prompt.analyst(FULL, QUESTION, ["reference"])
    assert "without code" in told and "the parent" in asked and "1.50" in asked


def test_a_gpu_is_described_by_the_table():
    brief = replace(FULL, device=Device.parse("cuda:sm_90"))
    assert "227 KiB" in text(["device"], brief)
    assert all(source.startswith("https://") for _, _, source in facts(brief.device, 1))


def test_contexts_are_sets_in_one_order():
    assert parse_contexts(["verdicts, reference", "reference,verdicts"]) == (
        ("reference", "verdicts"),
    )
    assert all(set(known) <= set(PARTS) for known in DEFAULT)
    with pytest.raises(UsageError, match='did you mean "exemplars"'):
        parse_contexts(["exemplar"])


def test_a_long_compiler_output_is_trimmed_to_its_errors():
    noise = [f"In file included from /usr/include/c++/12/x{i}:1:" for i in range(200)]
    lines = [*noise, "a.cpp:3:5: error: 'vec' was not declared", "    3 | vec y;", *noise]
    short = trimmed("\n".join(lines))
    assert "'vec' was not declared" in short and "vec y;" in short and len(short) < 500
    assert trimmed("off by one") == "off by one"


def test_kernels_are_repaired_first_and_then_optimised():
    import random

    questions = [next_question(BRIEF, n, random.Random(n)).purpose for n in range(5)]
    assert set(questions) == {"write"}
    broken = proposal("broken", call="0001")
    failed = replace(BRIEF, history=((broken, verdict(broken.candidate, reason="wrong")),))
    asked = [next_question(failed, n, random.Random(n)) for n in range(30)]
    assert {q.purpose for q in asked} == {"write", "repair"}
    tried = tuple(call(n, purpose="repair", parent=broken.candidate.digest) for n in range(2))
    again = [next_question(replace(failed, calls=tried), n, random.Random(n)) for n in range(30)]
    assert {q.purpose for q in again} == {"write"}  # two repairs were all it gets
    right = replace(failed, history=(*failed.history, HISTORY[0]))
    assert {next_question(right, n, random.Random(n)).purpose for n in range(9)} == {"optimise"}


def test_an_untimed_dialect_is_done_with_a_correct_kernel():
    import random

    brief = replace(BRIEF, history=(HISTORY[0],), dialects=("cpp", "triton"), timed=False)
    asked = [next_question(brief, n, random.Random(n)) for n in range(4)]
    assert [(q.purpose, q.dialect) for q in asked] == [("write", "triton")] * 4
    assert next_question(replace(brief, dialects=("cpp",)), 0, random.Random(0)) is None
    interpreted = proposal(), verdict(candidate(dialect="triton"))
    interpreted = (replace(interpreted[0], candidate=candidate(dialect="triton")), interpreted[1])
    brief = replace(brief, history=(interpreted,), dialects=("triton",), timed=True)
    assert next_question(brief, 0, random.Random(0)) is None


def test_dialects_take_turns_without_torch():
    import random

    brief = replace(BRIEF, dialects=("cpp", "torch", "triton"))
    asked = [next_question(brief, n, random.Random(0)).dialect for n in range(4)]
    assert asked == ["cpp", "triton"] * 2


def test_a_key_never_enters_a_prompt(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-openai")
    assert "key-of" not in text(list(PARTS)) and TASK.source


def test_the_roofline_is_the_minimum_traffic_at_copy_speed():
    said = text(["roofline"])
    assert f"must move at least {2 * 64 * 4 / 1e6:.3g} MB" in said  # 8 × 8 floats, in and out
    assert "- candidate: 1.0 µs" in said and "- eager: 1.5 µs" in said and "GFLOP" not in said


def test_kernels_are_shown_with_launches_and_compiler_facts():
    said = text(["kernels"])
    assert "run, 3 × in one call, 2000.0 µs together" in said
    assert "compiler, line 4: vectorized" in said


def test_invalid_utf8_is_replaced_in_a_prompt():
    wrong = (WRONG, verdict(WRONG.candidate, reason="it says \ud800 and"))
    said = text(["verdicts"], question=Question("repair", "cpp", wrong))
    assert "it says ? and" in said and said.encode()
