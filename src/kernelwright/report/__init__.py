"""The report: one HTML file per archive or task that opens offline."""

from kernelwright.report.page import write, write_chapters

__all__ = ["write", "write_chapters"]
