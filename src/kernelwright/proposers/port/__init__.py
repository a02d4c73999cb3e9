"""The ``port`` proposer: CUDA candidates of the archive, ported to HIP."""

from kernelwright.proposers.port.proposer import PortProposer

__all__ = ["PortProposer"]
