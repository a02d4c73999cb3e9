"""Operators of the models that people run, at their sizes and in their precisions.

    <family>/<operator>.py    the reference: Model, get_inputs, get_init_inputs

The files are as those of the built-in suite, and have the same three sizes: ``gpu`` is that of a
real model, ``cpu`` is the same for a laptop, ``small`` is for looking at correctness.
"""
