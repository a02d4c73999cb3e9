"""Many candidates' files before one judge: a folder for one task, or for every task of a suite."""

from kernelwright.docket.cases import Case, Docket, Step, assign, read_folder
from kernelwright.docket.judging import judge_all
from kernelwright.docket.suite import judge_suite

__all__ = ["Case", "Docket", "Step", "assign", "judge_all", "judge_suite", "read_folder"]
