"""The ``port`` proposer: CUDA candidates of the archive, ported to HIP."""

from kernelwright.propose.port.proposer import PortProposer

__all__ = ["PortProposer"]
