"""The report: one HTML file per archive or task that opens offline."""

from kernelwright.report.page import write

__all__ = ["write"]
