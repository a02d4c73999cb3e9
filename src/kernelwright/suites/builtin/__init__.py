"""The built-in suite: one folder per task, each in KernelBench's format.

    <name>/task.py     the reference: Model, get_inputs, get_init_inputs
    <name>/right.py    a ModelNew that must pass
    <name>/wrong.py    a ModelNew with one plausible mistake, that must be refused

Every task has three sizes in ``SIZES``: for a CPU (1 to 15 ms in eager mode on two cores), for a
GPU, and a small one for looking at correctness. The line ``SIZE = "cpu"`` chooses, and
``kernelwright.suites.suite.builtin_suite(device)`` rewrites it. The files are read as text
and never imported from here. A new task needs all three files and nothing else.
"""
