"""The built-in suite: one folder per task, each in KernelBench's format.

    <name>/task.py    the reference: Model, get_inputs, get_init_inputs

Every task has three sizes in ``SIZES``: for a CPU (1 to 15 ms in eager mode on two cores), for a
GPU, and a small one for looking at correctness. The line ``SIZE = "cpu"`` chooses, and
``kernelwright.suites.suite.builtin_suite(device)`` rewrites it. The files are read as text
and never imported from here. ``benchmarks/controls`` of the repository holds for each task a
candidate that must pass and one that must be refused.
"""
