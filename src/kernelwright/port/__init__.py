"""Ports of programs between CUDA and HIP, with a statement of how far each file was checked."""

from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.project import PortedFile, PortReport, port

__all__ = ["PortReport", "PortedFile", "Rung", "RungStatus", "port"]
