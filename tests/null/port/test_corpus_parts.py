"""Licences and origins as files state them; duplicates under renaming and reformatting."""

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.port.corpus.duplicates import SourceIndex, tokens
from kernelwright.port.corpus.pair import Reject
from kernelwright.port.corpus.provenance import provenance
from kernelwright.port.corpus.store import Store

KERNEL = """// a comment
__global__ void scale(float* out, const float* in, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * factor;
}
int main() { float* data; cudaMalloc(&data, 4096); scale<<<4, 256>>>(data, data, 2.0f, 1024); }
"""


@pytest.mark.parametrize(
    ("head", "licence", "source"),
    [
        ("// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n",
         "Apache-2.0 WITH LLVM-exception", "header"),
        ("/* SPDX-License-Identifier: MIT */\n", "MIT", "header"),
        ("/*\n * Permission is hereby granted, free\n * of charge, to any person ... without\n"
         " * restriction\n */\n", "MIT", "header"),
        ("// nothing\n", "BSD-3-Clause", "sub/COPYING"),
    ],
)  # fmt: skip
def test_a_header_takes_precedence_over_the_nearest_licence_file(tmp_path, head, licence, source):
    (tmp_path / "LICENSE").write_text("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/COPYING").write_text(
        "Redistribution and use in source and binary forms ... Neither the name of the copyright"
    )
    file = tmp_path / "sub/a.cu"
    file.write_text(head + KERNEL)
    found = provenance(file, tmp_path)
    assert (found.licence, found.licence_source) == (licence, source)
    assert found.origin == tmp_path.name


def test_a_missing_licence_is_reported_and_not_guessed(tmp_path):
    (tmp_path / "a.cu").write_text(KERNEL)
    assert provenance(tmp_path / "a.cu", tmp_path).licence == "NOASSERTION"
    (tmp_path / "LICENSE").write_text("ask the author")
    found = provenance(tmp_path / "a.cu", tmp_path)
    assert (found.licence, found.licence_source) == ("NOASSERTION", "LICENSE")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("// a comment", "/* other\nwords */").replace("  ", "\t"),
        lambda text: text.replace("factor", "scale_by").replace("data", "buffer"),
    ],
)
def test_a_renamed_and_reformatted_program_is_a_duplicate(change):
    seen = SourceIndex()
    assert seen.add("first", KERNEL) is None
    name, similarity = seen.add("second", change(KERNEL))
    assert name == "first" and similarity >= 0.85


def test_another_program_is_not_a_duplicate():
    seen = SourceIndex()
    seen.add("first", KERNEL)
    other = """__global__ void total(const int* x, int* sum) {
      __shared__ int part[256];
      part[threadIdx.x] = x[threadIdx.x];
      for (int s = 128; s > 0; s /= 2) {
        __syncthreads();
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
      }
      if (threadIdx.x == 0) atomicAdd(sum, part[0]);
    }"""
    assert seen.add("second", other) is None


def test_comments_are_not_tokens_and_strings_are_one_token():
    assert tokens('a = "x // y"; // z\n/* b */ c') == ["a", "=", '"x // y"', ";", "c"]


def test_a_store_keeps_its_rows_and_overwrites_only_its_own_files(tmp_path):
    pytest.importorskip("pyarrow")
    row = Reject("a.cu", "lint", "why")
    for _ in range(2):
        store = Store(tmp_path)
        store.put("key", row)
        store.write([], [row], "kernelwright port-corpus")
    assert Store(tmp_path).get("key") == row
    (tmp_path / "README.md").write_text("# My project")
    with pytest.raises(UsageError, match="no data card"):
        Store(tmp_path)
