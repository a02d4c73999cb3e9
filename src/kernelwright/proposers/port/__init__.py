"""The ``port`` proposer: CUDA candidates of the archive, ported to HIP and to Metal."""

from kernelwright.proposers.port.proposer import PortProposer

__all__ = ["PortProposer"]
