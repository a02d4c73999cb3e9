"""The built-in suite: one folder per task, each in KernelBench's format.

    <name>/task.py     the reference: Model, get_inputs, get_init_inputs
    <name>/right.py    a ModelNew that must pass
    <name>/wrong.py    a ModelNew with one plausible mistake, that must be refused

Every task has sizes for a CPU and for a GPU in ``SIZES`` and chooses with the line
``SIZE = "cpu"``; ``kernelwright.load.suite.builtin_suite(device)`` rewrites that line. The files
are read as text and never imported from here. A new task needs all three files and nothing else.
"""
