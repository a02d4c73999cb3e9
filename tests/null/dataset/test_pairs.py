"""Pairs on disk: what is written comes back, and what is no dataset is said to be none."""

import dataclasses
import sys

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.dataset.pairs import Pair, open_pairs, write_pairs

pyarrow = pytest.importorskip("pyarrow")

PAIR = Pair(
    task_digest="b2:1", task_name="t", task_source="class Model: ...", dialect="cpp",
    device="cpu", prompt=(("system", "write"), ("user", "this")), answer="## Code", code="x",
    status="passed", kinds=("kernel", "algebra"), speedup=1.5, speedup_low=1.4, speedup_high=1.6,
    origin="rules", split="train", provenance="{}",
)  # fmt: skip


def test_what_is_written_comes_back(tmp_path):
    failed = dataclasses.replace(
        PAIR, status="wrong_values", kinds=(), speedup=None, speedup_low=None, speedup_high=None,
        split="validation", answer="a lone \udcff surrogate",
    )  # fmt: skip
    table = write_pairs([PAIR, failed], tmp_path)
    back = open_pairs(tmp_path)
    assert back == open_pairs(table)
    assert back[0] == PAIR
    assert back[1].answer == "a lone ? surrogate" and back[1].speedup is None
    assert open_pairs(tmp_path, "train") == [PAIR]


def test_an_empty_dataset_is_a_dataset(tmp_path):
    write_pairs([], tmp_path)
    assert open_pairs(tmp_path) == []


def test_what_is_no_dataset_is_one_error(tmp_path):
    with pytest.raises(UsageError, match="no training pairs"):
        open_pairs(tmp_path)
    (tmp_path / "pairs.parquet").write_text("not a table")
    with pytest.raises(UsageError, match="no training pairs"):
        open_pairs(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"code": ["x"]}), tmp_path / "other.parquet")
    with pytest.raises(UsageError, match="no training pairs"):
        open_pairs(tmp_path / "other.parquet")
    with pytest.raises(UsageError, match='"train"'):
        open_pairs(tmp_path, "trian")


def test_without_pyarrow_the_remedy_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"kernelwright\[data\]"):
        open_pairs(tmp_path)
