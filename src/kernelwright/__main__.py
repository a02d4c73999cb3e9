"""The command line, as ``python -m kernelwright``."""

from kernelwright.cli import main

main()
