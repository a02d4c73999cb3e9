"""Ends the process that imports it when its parent is killed, from the import on.

multiprocessing's fork server imports it before everything else: it looks for the end of its parent
itself, but only after all the imports that it was told to make, which take seconds.
"""

from __future__ import annotations

import os
import signal

from kernelwright.judge.sandbox import kernel_calls

_TOLD_BY = signal.SIGRTMIN  # nobody else sends it, and a closed terminal is told by another
_PARENT = os.getppid()


def _end_if_orphaned(*_: object) -> None:
    """The system sends the signal also when only that thread of the parent has ended which started
    this process.

    Source:
        prctl(2), PR_SET_PDEATHSIG.
    """
    if os.getppid() != _PARENT:
        os._exit(1)


signal.signal(_TOLD_BY, _end_if_orphaned)
kernel_calls.prctl(kernel_calls.PR_SET_PDEATHSIG, _TOLD_BY)
