"""The compile helper of candidates in C++: ``from zoo.cpp import build``."""

import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path


def build(text):
    folder = Path(os.environ.get("TORCH_EXTENSIONS_DIR") or tempfile.gettempdir())
    library = folder / f"{hashlib.sha256(text.encode()).hexdigest()}.so"
    if not library.exists():
        fresh = library.with_suffix(f".{os.getpid()}")
        command = ["g++", "-O3", "-march=native", "-std=c++17", "-fopenmp", "-shared", "-fPIC"]
        subprocess.run([*command, "-xc++", "-", "-o", fresh], input=text.encode(), check=True)
        fresh.rename(library)
    return ctypes.CDLL(str(library))
