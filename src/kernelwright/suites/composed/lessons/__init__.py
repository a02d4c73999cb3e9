"""Lessons: a composed task, and a plain Triton kernel for it that works for every shape."""

from kernelwright.suites.composed.lessons.draws import FORMS, PROPOSER, Lesson, lessons, prose

__all__ = ["FORMS", "PROPOSER", "Lesson", "lessons", "prose"]
