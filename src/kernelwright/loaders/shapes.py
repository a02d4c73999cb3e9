"""The shapes that a task lists: each is a task of its own, whose inputs have this shape alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.core.task import Task
from kernelwright.loaders.reference import FURTHER, HELD_OUT, open_reference

_MARK = "\n\n\n_sets_of_inputs = "
_AT_SHAPE = (
    _MARK
    + """\
{function}


def get_inputs():  # one of the shapes that the task lists
    return _sets_of_inputs()[{number}]


def get_other_inputs():
    return []


def get_holdout_inputs():
    return []
"""
)


@dataclass(frozen=True)
class Shape:
    """One of the shapes that a task lists."""

    name: str
    """Such as '64x1024': the sizes of the first tensor that is not the same in all shapes."""
    task: Task
    """The task on inputs of this shape; for the main shape the task itself."""
    inputs: Sequence[Any]
    """Inputs of this shape; their values say nothing."""
    is_holdout: bool = False

    @property
    def sizes(self) -> list[tuple[int, ...]]:
        """The sizes of the tensors among the inputs."""
        import torch
        from torch.utils._pytree import tree_leaves

        values = tree_leaves(self.inputs)
        return [tuple(value.shape) for value in values if isinstance(value, torch.Tensor)]


def at_shape(task: Task, function: str, number: int) -> Task:
    """Return the task on the set of inputs with this number, of those that ``function`` returns.

    Like a task in another precision it is another task, with another digest: verdicts on one shape
    say nothing about the others.
    """
    text = _AT_SHAPE.format(function=function, number=number)
    return replace(task, source=task.source.rstrip() + text)


def main_task_of(task: Task, tasks: Callable[[], Iterable[Task]]) -> Task:
    """Return the known task that lists the shape which this one is about, else the task; ``tasks``
    returns the known ones, and is called only for a task that is about a shape."""
    head, mark, _ = task.source.rpartition(_MARK)
    if not mark:
        return task
    same = (each for each in tasks() if each.source.rstrip() == head and each.entry == task.entry)
    return next(same, task)


def at_shapes_of(task: Task, find: Callable[[str], Task | None]) -> list[tuple[Task, bool]]:
    """Return the tasks that are ``task`` at one of its further shapes, in their order, each with
    whether it is held out; ``find`` returns a known task by its digest."""
    found = []
    for function in FURTHER:
        for number in itertools.count():
            known = find(at_shape(task, function, number).digest)
            if known is None:
                break
            found.append((known, function == HELD_OUT))
    return found


def listed_shapes(task: Task) -> list[Shape]:
    """Return the shapes of a task, the main one first and those held out last.

    Raises:
        TaskError: the task does not run.
    """
    reference = open_reference(task)
    found = [Shape("", task, reference.blank_inputs())]
    for function in FURTHER:
        for number, inputs in enumerate(reference.blank_sets(function)):
            at = at_shape(task, function, number)
            found.append(Shape("", at, inputs, function == HELD_OUT))
    return list(_named(found))


def _named(shapes: Sequence[Shape]) -> Iterator[Shape]:
    """Yield the shapes with their names, in which no two are the same."""
    seen: set[str] = set()
    for shape in shapes:
        columns = zip(*(each.sizes for each in shapes), strict=False)
        place = next((n for n, column in enumerate(columns) if len(set(column)) > 1), 0)
        name = "x".join(map(str, shape.sizes[place])) if len(shape.sizes) > place else "none"
        while name in seen:
            name += "'"
        seen.add(name)
        is_main = shape is shapes[0]
        named = shape.task if is_main else replace(shape.task, name=f"{shape.task.name}-{name}")
        yield replace(shape, name=name, task=named)
