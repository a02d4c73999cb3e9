"""A tree becomes a corpus: pairs that were checked, rejections with reasons, a card."""

import json

import pytest
from click.testing import CliRunner
from tests.host.port.conftest import needs_amd
from tests.host.port.test_port import GOOD

from kernelwright.core.errors import UsageError
from kernelwright.dialects import nvidia
from kernelwright.port import corpus
from kernelwright.port.corpus.pair import make_pair

parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = needs_amd


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    (root / "lib").mkdir(parents=True)
    (root / "LICENSE").write_text(
        "Permission is hereby granted, free of charge, ... without restriction"
    )
    (root / "sum.cu").write_text(GOOD)
    (root / "sum_again.cu").write_text("// a copy\n" + GOOD)
    (root / "lib/n.cuh").write_text("inline void ready() { cudaFree(0); }\n")
    (root / "lib/with_header.cu").write_text(
        '// SPDX-License-Identifier: BSD-2-Clause\n#include "n.cuh"\n'
        "__global__ void three(int* p) { p[threadIdx.x] = 3 * blockIdx.x; }\n"
    )
    (root / "unknown.cu").write_text("void f() { cudaNothingAtAll(); }\n")
    (root / "absent.cu").write_text('#include "absent.h"\n__global__ void k() {}\n')
    return root


def rows(folder, name):
    return {row["path"]: row for row in parquet.read_table(folder / name).to_pylist()}


def test_a_tree_becomes_pairs_and_rejections(tree, tmp_path):
    out = tmp_path / "out"
    corpus.make_corpus(tree, out=out, targets=("gfx942",))
    pairs, rejects = rows(out, "pairs.parquet"), rows(out, "rejects.parquet")
    assert set(pairs) == {"sum.cu", "lib/with_header.cu"}
    program = pairs["sum.cu"]
    assert "hipMallocManaged" in program["hip"] and program["cuda"] == GOOD
    assert (program["verified"], program["licence"]) == ("emulate", "MIT")
    assert program["kernels"] == ["sum"] and program["n_repaired"] > 0
    assert [r["kernel"] for r in json.loads(program["resources"])] == ["_Z3sumPi"]
    kinds = {(a["arch"], a["kind"]): a["text"] for a in program["assembly"]}
    assert "s_endpgm" in kinds["gfx942", "amdgcn"]
    if nvidia.nvcc_missing() is None:
        assert ".entry _Z3sumPi" in kinds[nvidia.ARCH, "ptx"]
        assert "__global__ void _Z3sumPi(u64 arg0)" in program["ptx_hip"]
        assert program["ptx_verified"] == "emulate"
    library = pairs["lib/with_header.cu"]
    assert (library["verified"], library["licence"]) == ("compile", "BSD-2-Clause")
    assert "hipFree" in library["headers"][0]["hip"]
    stages = {path: row["stage"] for path, row in rejects.items()}
    assert stages == {"absent.cu": "compile", "sum_again.cu": "duplicate", "unknown.cu": "lint"}
    assert "cudaNothingAtAll" in rejects["unknown.cu"]["reason"]
    card = (out / "README.md").read_text()
    assert "2 verified pairs" in card and "| BSD-2-Clause | 1 |" in card


def test_existing_rows_are_not_remade(tree, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = corpus.make_corpus(tree, out=out, targets=("gfx942",), emulate=False)
    made = []
    whole = make_pair
    monkeypatch.setattr(
        "kernelwright.port.corpus.make.make_pair",
        lambda path, **rest: made.append(path.name) or whole(path, **rest),
    )
    (tree / "unknown.cu").write_text("void f() { cudaFree(0); }\n")
    again = corpus.make_corpus(tree, out=out, targets=("gfx942",), emulate=False)
    assert made == ["unknown.cu"]
    assert len(again.pairs) == len(first.pairs) + 1
    assert again.pairs[0] == first.pairs[0]


def test_a_symbolic_link_is_not_a_separate_source(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "sum.cu").write_text(GOOD)
    (tree / "a_link.cu").symlink_to("sum.cu")
    (tree / "outwards.cu").symlink_to(tmp_path / "other.cu")
    (tmp_path / "other.cu").write_text(GOOD)
    found = corpus.make_corpus(tree, out=tmp_path / "out", targets=("gfx942",), emulate=False)
    assert [pair.path for pair in found.pairs] == ["sum.cu"]
    assert {reject.path: reject.stage for reject in found.rejects} == {
        "a_link.cu": "read",
        "outwards.cu": "read",
    }


def test_sources_can_be_limited_to_some_licences(tree, tmp_path):
    found = corpus.make_corpus(
        tree, out=tmp_path / "out", targets=("gfx942",), licences=("BSD-2-Clause",), emulate=False
    )
    assert [pair.path for pair in found.pairs] == ["lib/with_header.cu"]
    assert {reject.stage for reject in found.rejects} == {"licence"}


def test_the_command_and_its_wrong_use(tree, tmp_path):
    from kernelwright.cli import main

    words = ["port-corpus", str(tree / "lib"), "--out", str(tmp_path / "o"), "--arch", "gfx942"]
    done = CliRunner().invoke(main, [*words, "--no-run"])
    assert done.exit_code == 0 and "1 pairs" in done.output
    with pytest.raises(UsageError, match=r"no \.cu files"):
        corpus.make_corpus(tmp_path / "o", out=tmp_path / "p")
