"""Training pairs from archives: judged candidates of tasks that repeat no test task."""

from kernelwright.dataset.build import Grids, build_dataset
from kernelwright.dataset.contents import Dataset
from kernelwright.dataset.pairs import Pair, open_pairs

__all__ = ["Dataset", "Grids", "Pair", "build_dataset", "open_pairs"]
