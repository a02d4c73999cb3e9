"""The collector is off while something needs that, and afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from kernelwright.core.collector import collector_off


def test_it_is_off_inside_and_on_again_after_an_error():
    with pytest.raises(ValueError, match="inside"), collector_off():
        assert not gc.isenabled()
        raise ValueError("inside")
    assert gc.isenabled()


def test_it_stays_off_where_it_was_off():
    gc.disable()
    try:
        with collector_off():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
