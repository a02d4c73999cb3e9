"""Lessons: a composed task, and a plain Triton kernel for it that works for every shape."""

from kernelwright.compose.lessons.draws import FORMS, Lesson, lessons

__all__ = ["FORMS", "Lesson", "lessons"]
