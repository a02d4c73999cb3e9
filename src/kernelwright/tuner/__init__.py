"""The tuner: between proposer and judge it measures many candidates of our own emitters.

It gives trials and never verdicts. A trial's process is warm, and runs many candidates one after
the other; that is safe only because nobody but our emitters writes them. The best few go to the
judge.
"""
