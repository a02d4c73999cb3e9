"""Verified pairs of CUDA and HIP from a tree of sources."""

from kernelwright.port.corpus.make import Corpus, make_corpus
from kernelwright.port.corpus.pair import PortPair, Reject

__all__ = ["Corpus", "PortPair", "Reject", "make_corpus"]
