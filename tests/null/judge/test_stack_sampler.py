"""Whose code runs: what a mapped file's name and size say, and when a few samples are believed."""

import itertools
import os
import sys

import pytest
import torch

from kernelwright.judge.kinds import sampling
from kernelwright.judge.kinds.sampling import (
    FEWEST_SAMPLES,
    LENT,
    LIBRARY,
    MADE,
    OWN,
    Span,
    StackSampler,
    answerable,
    owned,
    owner_of,
    spans,
)
from kernelwright.judge.sandbox.process_memory import Mapped

GIVEN = ("/usr", "/env")
COMPILED = "/tmp/uz/cuzdfgo2snljrd77x3lldp5ooczefg23k5dc47k27obkwhk4qeq6.main.so"


@pytest.mark.parametrize(
    ("path", "n_bytes", "owner_of"),
    [
        ("/tmp/4f1c.so", 1 << 16, OWN),
        ("", 1 << 16, MADE),  # written by a compiler into anonymous memory
        ("", 1 << 28, LIBRARY),  # copied there
        ("/tmp/libgomp.so.1", 1 << 16, OWN),
        ("/tmp/libgomp.so.1", 1 << 28, LIBRARY),  # whatever it is called
        ("/env/lib/libtorch_cpu.so", 1 << 28, LIBRARY),
        ("/usr/lib/libopenblas.so.0", 1 << 25, LIBRARY),
        (COMPILED, 1 << 16, LIBRARY),
        ("/tmp/mine.so", 1 << 28, LIBRARY),  # libtorch_cpu.so under another name
        ("/env/lib/libgomp.so.1", 1 << 18, ""),
        ("/usr/lib/libm.so.6", 1 << 20, LENT),
        ("[vdso]", 1 << 12, ""),
        ("/env/lib/python3.11/lib-dynload/array.cpython-311-x86_64-linux-gnu.so", 1 << 16, ""),
        ("/tmp/lib-dynload/mine.so", 1 << 16, OWN),
    ],
)
def test_code_belongs_to_whom_its_file_says(path, n_bytes, owner_of):
    (span,) = owned([(4096, 4096 + n_bytes, path)], GIVEN)
    assert span.owner == owner_of


def test_a_library_cut_in_pieces_is_a_library():
    pieces = [(n << 24, (n << 24) + (3 << 20), f"/tmp/k{n}.so") for n in range(4)]
    given = (1 << 40, (1 << 40) + (1 << 28), "/env/lib/libtorch_cpu.so")
    assert [span.owner for span in owned([*pieces[:2], given], GIVEN)] == [OWN, OWN, LIBRARY]
    assert {span.owner for span in owned([*pieces, given], GIVEN)} == {LIBRARY}


def test_libraries_of_an_environment_that_is_a_link_are_libraries(tmp_path, monkeypatch):
    package = tmp_path / "real" / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "link" / "site-packages"), *sys.path])
    [span] = spans([Mapped(0, 4096, "r-xp", 0, ("1", "2"), str(package / "lib.so"))])
    assert span.owner == LIBRARY


def test_a_thread_in_a_library_outweighs_one_in_own_code():
    memory = [Span(0, 10, OWN), Span(10, 20, LIBRARY), Span(20, 30, "")]
    assert owner_of([5, 25], memory) == OWN
    assert owner_of([5, 15], memory) == LIBRARY
    assert owner_of([25, 99], memory) == ""


def test_code_in_no_file_is_its_callers():
    """oneDNN writes its convolutions while it runs, as a candidate's own compiler may."""
    memory = [Span(1, 10, MADE), Span(10, 20, LIBRARY), Span(20, 30, "")]
    stacks = {"library": [5, 0, 3, 12, 25], "python": [0, 25, 12], "nobody": [0, 99]}
    kept = {name: torch.tensor(words + [0] * 1024) for name, words in stacks.items()}
    places = {name: stack.data_ptr() for name, stack in kept.items()} | {"no stack": 8}

    def answer(name):
        return owner_of([answerable(os.getpid(), 5, places[name], memory)], memory)

    assert {name: answer(name) for name in places} == {
        "library": LIBRARY, "python": OWN, "nobody": OWN, "no stack": OWN,
    }  # fmt: skip
    assert answerable(os.getpid(), 15, 0, memory) == 15


@pytest.mark.parametrize(
    ("stack", "answer"),
    [([0, 3, 15, 25], OWN), ([25, 15], LIBRARY), ([35, 15], ""), ([0, 99], "")],
)
def test_code_of_the_c_library_belongs_to_its_caller(stack, answer):
    """A kernel may be one memcpy, which ran in nobody's code; an interpreter's still does."""
    memory = [Span(1, 10, LENT), Span(10, 20, OWN), Span(20, 30, LIBRARY), Span(30, 40, "")]
    kept = torch.tensor(stack + [0] * 1024)
    at = answerable(os.getpid(), 5, kept.data_ptr(), memory)
    assert owner_of([at], memory) == answer


def test_own_code_must_have_most_of_the_samples_that_come_as_a_surprise(monkeypatch):
    """A candidate that notices that it was stopped may run something else from then on."""
    told = iter([LIBRARY, LIBRARY, OWN, OWN, OWN] * 2)
    monkeypatch.setattr(sampling, "beside", lambda pid: [])
    monkeypatch.setattr(sampling, "whereabouts", lambda pid: [])
    monkeypatch.setattr(sampling, "owner_of", lambda addresses, memory: next(told))
    sampler = StackSampler(1)
    for _ in range(4):
        times = sampler.sample_times(4e6)
        for _ in times.after_s:
            times.sample(0)
    assert sampler.n_told == 10 and sampler.n_against == -2
    assert sampler.shares() == (0.0, 1.0)


def test_in_short_calls_all_samples_count_alike(monkeypatch):
    """By every other one, four or five of a dozen, own kernels of 0.1 ms were a library's."""
    told = iter([LIBRARY, OWN, OWN] * 4)
    monkeypatch.setattr(sampling, "beside", lambda pid: [])
    monkeypatch.setattr(sampling, "whereabouts", lambda pid: [])
    monkeypatch.setattr(sampling, "owner_of", lambda addresses, memory: next(told))
    sampler = StackSampler(1)
    for _ in range(12):
        for _ in sampler.sample_times(2e5).after_s:
            sampler._sample(0)
    assert sampler.shares() == pytest.approx((2 / 3, 1 / 3))


@pytest.mark.parametrize(
    ("told", "n_samples"), [([OWN] * 7 + [LIBRARY], 64), ([OWN], 17), ([LIBRARY], 12)]
)
def test_sampling_goes_on_until_it_is_clear_whether_the_library_is_named_too(
    told, n_samples, monkeypatch
):
    """An eighth of a kernel's time is torch.empty's: with 12 samples a third of verdicts named
    it."""
    seen = itertools.cycle(told)
    monkeypatch.setattr(sampling, "beside", lambda pid: [])
    monkeypatch.setattr(sampling, "whereabouts", lambda pid: [])
    monkeypatch.setattr(sampling, "owner_of", lambda addresses, memory: next(seen))
    sampler = StackSampler(1)
    while not sampler.is_enough:
        for _ in sampler.sample_times(2e5).after_s:
            sampler._sample(0)
    assert sampler.n_told == n_samples


def test_a_single_sample_comes_at_any_moment_of_the_call():
    """The first of several comes early: own code at the start of a call would count for all."""
    sampler = StackSampler(1)
    first_s = [sampler.sample_times(8e6).after_s for _ in range(400)][::2]
    assert {len(after_s) for after_s in first_s} == {1}
    assert 0.45 < sum(after_s[0] for after_s in first_s) / len(first_s) / 8e-3 < 0.55


@pytest.mark.parametrize(("seen", "is_nobodys"), [("", True), (LIBRARY, True), (OWN, False)])
def test_samples_that_never_saw_own_code_leave_none_to_believe_in(seen, is_nobodys, monkeypatch):
    """A candidate that writes files is busy with no operator, and has no kernel."""
    told = iter([seen, *[""] * 100])
    monkeypatch.setattr(sampling, "beside", lambda pid: [])
    monkeypatch.setattr(sampling, "whereabouts", lambda pid: [])
    monkeypatch.setattr(sampling, "owner_of", lambda addresses, memory: next(told))
    sampler = StackSampler(1)
    for n_calls in range(FEWEST_SAMPLES):
        assert not (sampler.is_nobodys and n_calls < 2)
        for _ in sampler.sample_times(8e6).after_s:
            sampler._sample(0)
    assert sampler.is_nobodys == is_nobodys
