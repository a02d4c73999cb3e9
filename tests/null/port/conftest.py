"""These tests read CUDA with tree-sitter, which the extra ``port`` brings."""

import pytest

pytest.importorskip("tree_sitter_cuda")
