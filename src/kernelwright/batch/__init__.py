"""Many candidates' files before one judge: a folder for one task, or for every task of a suite."""

from kernelwright.batch.cases import Case, Docket, Step, assign, read_folder
from kernelwright.batch.judging import judge_all
from kernelwright.batch.suite import judge_suite

__all__ = ["Case", "Docket", "Step", "assign", "judge_all", "judge_suite", "read_folder"]
