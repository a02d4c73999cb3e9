"""Lessons: the same for the same seed, tasks worth solving, kernels that launch their own code."""

import ast
import itertools
import random
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core import schedule_line
from kernelwright.core.errors import UsageError
from kernelwright.loaders import check
from kernelwright.proposers.swarm.answer import read
from kernelwright.suites.composed.lessons import FORMS, lessons, prose
from kernelwright.suites.composed.lessons.draws import LONGEST
from kernelwright.suites.composed.lessons.functions import LINES, WRITTEN
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder
from kernelwright.suites.composed.lessons.schedule import Schedule
from kernelwright.suites.composed.lessons.writing import Writing
from kernelwright.suites.composed.sizes import sizes_of
from kernelwright.tuner.admission import refusal

FEW = settings(max_examples=6)


@FEW
@given(st.integers(0, 2**32), st.sampled_from(sorted(FORMS)))
def test_the_same_seed_gives_the_same_lessons(seed, form):
    first, again = (
        [
            (lesson.task.source, lesson.candidate.source)
            for lesson in lessons(2, seed=seed, forms=[form])
        ]
        for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_lesson_is_a_task_that_runs_and_an_answer_that_a_policy_may_give(form):
    made = list(lessons(3, seed=3, forms=[form]))
    assert len(made) == 3
    for lesson in made:
        assert check(lesson.task).task == lesson.task.digest
        assert all(prose(form))
        code = lesson.candidate.source
        assert read(f"```python\n{code}```\n", "triton").code == code
        model, new = (_methods(text) for text in (lesson.task.source, code))
        assert list(new) == ["__init__", "forward"]
        for name, mine in new.items():
            assert [a.arg for a in mine.args] == [a.arg for a in model[name].args]
            assert list(map(ast.dump, mine.defaults)) == list(map(ast.dump, model[name].defaults))


def _methods(text):
    """The arguments of the methods of a file's class."""
    (found,) = [n for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]
    return {n.name: n.args for n in found.body if isinstance(n, ast.FunctionDef)}


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_task_s_kernels_differ_in_their_schedule_lines_alone(form):
    found = list(lessons(4, seed=7, forms=[form], schedules=3))
    by_task = {}
    for lesson in found:
        by_task.setdefault(lesson.task.digest, []).append(lesson.candidate.source)
    assert len(by_task) == 4 and len(found) > 4
    assert list(by_task) == [lesson.task.digest for lesson in lessons(4, seed=7, forms=[form])]
    for texts in by_task.values():
        assert len(set(texts)) == len(texts)
        for text in texts:
            assert schedule_line.rewritten(texts[0], schedule_line.read(text)) == text


@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_lesson_s_kernel_may_be_tried_before_it_is_judged(form):
    for lesson in lessons(3, seed=3, forms=[form]):
        assert refusal(lesson.candidate.source) == ""


def test_tiles_of_a_product_fit_the_shared_memory_of_a_block():
    for seed, draw in itertools.product(range(100), (Schedule.drawn, Schedule.quick)):
        drawn = draw(random.Random(seed))
        n_bytes = drawn.stages * (drawn.tile_m + drawn.tile_n) * drawn.terms * 4
        assert n_bytes <= 99 * 1024, drawn


def test_large_tasks_are_large_and_tried_out_small():
    made = list(lessons(6, seed=1, size="gpu", forms=["pointwise", "product", "linear"]))
    assert len(made) == 6
    for lesson in made:
        longest = max(map(int, re.findall(r"^\w+ = (\d+)$", lesson.task.source, re.M)))
        assert longest > 256


def test_large_tasks_run_at_their_own_size():
    """Tried out small, lengths that must not be equal may be."""
    made = list(lessons(30, seed=5, size="gpu", forms=["linear grouped"]))
    assert len(made) == 30
    for lesson in made:
        task = {"__name__": "task"}
        exec(lesson.task.source, task)
        with torch.device("meta"):
            task["Model"](*task["get_init_inputs"]())(*task["get_inputs"]())


def test_some_products_have_no_epilogue():
    """A model that never saw one writes a step where the task has none."""
    ends = [
        re.split(r"v \+= tl.dot\(.*\)\n", lesson.candidate.source)[1].lstrip()
        for lesson in lessons(30, seed=2, forms=["product"])
    ]
    assert any(end.startswith("tl.store") for end in ends)
    assert not all(end.startswith("tl.store") for end in ends)


def test_every_answer_fits_the_token_limit_of_an_exam():
    for form in ("linear grouped", "linear batch norm", "image norm"):
        found = list(lessons(12, seed=4, forms=[form]))
        assert max(len(lesson.candidate.source) for lesson in found) <= LONGEST


def test_a_model_decides_what_is_hard_to_tell_before_it_writes_code():
    """Which axis, which half of a matrix: the prose says it, by the form's way."""
    found = {lesson.form: lesson for lesson in lessons(40, seed=6, forms=["scan"])}
    assert set(found) == {"scan, rows", "scan, columns"}
    for form, lesson in found.items():
        is_row = "row = tl.program_id(0)" in lesson.candidate.source
        assert ("last axis: one program per row" in prose(form)[1]) == is_row
    assert prose("scan, rows")[0] == prose("scan")[0]


def test_learned_vectors_of_images_run_along_their_channels():
    found = [
        lesson
        for lesson in lessons(60, seed=9, forms=["pointwise"])
        if "inner % channels" in lesson.candidate.source
    ]
    assert found and all(", 1, 1))" in lesson.task.source for lesson in found)


def test_average_pooling_has_no_dilation():
    """The modules of averages have no dilation; those of one axis hold tuples."""
    made = list(lessons(40, seed=8, forms=["pooling"]))
    assert len(made) == 40
    for lesson in made:
        code = lesson.candidate.source
        assert ("dilation" in code and "max_pool" in code) or "pool.dilation" not in code
        assert ("pool.kernel_size[0]" in code) == ("nn.AvgPool1d" in code)


def test_arguments_that_the_constructor_call_leaves_out_have_a_default():
    """Some tasks have flags that nobody sets: the constructor call ends before them."""
    found = [
        lesson.task.source for lesson in lessons(60, seed=9, forms=["pooling", "linear", "mapping"])
    ]
    for name in ("ceil_mode", "bias", "eps"):
        untold = [text for text in found if re.search(rf"\b{name}\b.* ?= ?[\w.-]+\):", text)]
        ends = [text.split("def get_init_inputs():")[1] for text in untold]
        assert untold and any(name not in end for end in ends)


def test_every_operator_that_has_lines_is_one_of_the_composer_s():
    assert {operator.word for operator in WRITTEN} == set(LINES)


def test_an_unknown_form_is_reported():
    with pytest.raises(UsageError, match='no form "softmix"'):
        next(lessons(1, forms=["softmix"]))


@pytest.mark.parametrize("form", sorted(FORMS))
def test_drawn_tasks_are_valid_python(form):
    """An operator that is not in the table would be dropped silently, and its spelling with it."""
    for number in range(40):
        draw = random.Random(f"{form} {number}")
        builder = LessonBuilder(draw, sizes_of("small"))
        code = FORMS[form](builder)
        ast.parse(code)
        ast.parse(Writing(builder, draw).text())
        assert code.count("tl.load(linear_bias + ") < 2  # the layer's own
