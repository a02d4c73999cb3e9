"""A compiler that cannot read the device libraries is reported as missing, not as an error."""

from pathlib import Path

import pytest

from kernelwright.dialects import amdgpu


@pytest.mark.skipif(amdgpu._wheel() is None, reason="no triton wheel")
def test_an_old_compiler_is_reported_as_missing(monkeypatch, tmp_path):
    old = tmp_path / "clang++-17"
    old.write_text("#!/bin/sh\necho 'Invalid record' >&2\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setattr(amdgpu, "find_clang", lambda: str(old))
    monkeypatch.setattr(amdgpu, "_rocm", lambda: None)
    assert "too old" in amdgpu.compile_missing.__wrapped__()
    monkeypatch.setattr(amdgpu, "_rocm", lambda: Path("/opt/rocm"))  # which brings its own
    assert amdgpu.compile_missing.__wrapped__() is None
