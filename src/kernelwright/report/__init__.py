"""The report: one HTML file per archive or task that opens offline."""

from kernelwright.report.page import Beside, write, write_chapters

__all__ = ["Beside", "write", "write_chapters"]
