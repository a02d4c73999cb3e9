"""Lessons: the same for the same seed, tasks worth solving, kernels that launch their own code."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.compose.lessons import FORMS, lessons
from kernelwright.compose.lessons.steps import LINES, WRITTEN
from kernelwright.core.errors import UsageError
from kernelwright.load import check
from kernelwright.propose.swarm.answer import read

FEW = settings(max_examples=6, deadline=None, derandomize=True)


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
    for lesson in lessons(3, seed=3, forms=[form]):
        assert check(lesson.task).task == lesson.task.digest
        code = lesson.candidate.source
        assert read(f"```python\n{code}```\n", "triton").code == code
        wanted = ast.parse(lesson.task.source).body
        (model,) = [n for n in wanted if isinstance(n, ast.ClassDef)]
        (new,) = [n for n in ast.parse(code).body if isinstance(n, ast.ClassDef)]
        for mine, theirs in zip(new.body, model.body[1:], strict=True):  # after its docstring
            assert ast.dump(mine.args) == ast.dump(theirs.args)


def test_every_operator_that_has_lines_is_one_of_the_composer_s():
    assert {operator.word for operator in WRITTEN} == set(LINES)


def test_a_form_that_there_is_not_is_told():
    with pytest.raises(UsageError, match='no form "softmix"'):
        next(lessons(1, forms=["softmix"]))
