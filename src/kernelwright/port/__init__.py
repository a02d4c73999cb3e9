"""Ports of programs between CUDA and HIP, with a statement of how far each file was checked."""

from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.project import PortOptions, port, port_with
from kernelwright.port.report import PortedFile, PortReport

__all__ = [
    "PortOptions",
    "PortReport",
    "PortedFile",
    "Rung",
    "RungStatus",
    "port",
    "port_with",
]
