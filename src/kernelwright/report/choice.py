"""The task and the candidate of an archive that a command is about."""

from __future__ import annotations

from kernelwright.archive import Archive, ranking
from kernelwright.archive.ranking import Pair
from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.loaders.shapes import main_task_of
from kernelwright.report.chapter import chapters


def chosen_task(archive: Archive, name: str | None) -> Task:
    """The last task with this name, otherwise the one with this digest; without a name the task
    that was run last. A search over several shapes was one of the task that lists them.

    Raises:
        UsageError: there is none.
    """
    if name is not None:
        named = archive.tasks(name)
        return named[-1] if named else archive.task(name)
    last = archive.last_run()
    if last is None:
        raise UsageError("the archive is empty", seen="no runs", do="run kernelwright optimize")
    return main_task_of(archive.task(last.task), archive.tasks)


def best_of(archive: Archive, task: Task) -> Pair | None:
    """The best candidate on any device; None where nothing beats the library.

    Verdicts of two judges are never mixed.
    """
    places = chapters(archive, [task])
    return ranking.best(place.best for place in places if place.best is not None)
