"""Verdicts as single files that can be repeated, and what a repetition says about one."""

from kernelwright.receipt.receipt import VERSION, Receipt
from kernelwright.receipt.repetition import Repetition

__all__ = ["VERSION", "Receipt", "Repetition"]
