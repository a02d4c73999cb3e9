"""Batch judging of candidate files: a folder for one task, or for every task of a suite."""

from kernelwright.batch.files import Batch, BatchProgress, CandidateFile, assign, read_folder
from kernelwright.batch.judging import judge_all
from kernelwright.batch.suite import judge_folder, judge_suite

__all__ = [
    "Batch",
    "BatchProgress",
    "CandidateFile",
    "assign",
    "judge_all",
    "judge_folder",
    "judge_suite",
    "read_folder",
]
