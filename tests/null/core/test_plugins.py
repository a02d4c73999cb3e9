"""Plugins: others' stand beside ours, never in the place of one, and can be kept out."""

from importlib.metadata import EntryPoint

import pytest

from kernelwright.core import plugins
from kernelwright.core.errors import UsageError, nearest

GROUP = "kernelwright.proposers"
OURS = EntryPoint("rules", "kernelwright.core.settings:Settings", GROUP)
OTHERS = EntryPoint("fast", "collections:Counter", GROUP)
RIVAL = EntryPoint("rules", "collections:Counter", GROUP)


@pytest.fixture
def installed(monkeypatch):
    """A function that says which entry points there are."""
    monkeypatch.delenv("KERNELWRIGHT_NO_PLUGINS", raising=False)

    def install(*entries):
        plugins.entries.cache_clear()
        plugins.find.cache_clear()
        monkeypatch.setattr(plugins, "entry_points", lambda group: entries)

    yield install
    plugins.entries.cache_clear()
    plugins.find.cache_clear()


def made(name):
    return type(plugins.find(GROUP, name)).__name__


def test_others_stand_beside_ours(installed):
    installed(OTHERS, OURS)
    assert plugins.names(GROUP) == ("fast", "rules")
    assert (made("fast"), made("rules")) == ("Counter", "Settings")


def test_an_unknown_name_names_the_nearest_and_the_kind(installed):
    installed(OTHERS, OURS)
    with pytest.raises(UsageError, match='unknown proposer "rule"') as raised:
        plugins.find(GROUP, "rule")
    assert raised.value.do == 'did you mean "rules"?'


@pytest.mark.parametrize("entries", [(OURS, RIVAL), (RIVAL, OURS)])
def test_two_of_one_name_are_an_error_that_names_both(installed, entries):
    installed(OTHERS, *entries)
    for ask in (lambda: plugins.names(GROUP), lambda: plugins.find(GROUP, "rules")):
        with pytest.raises(UsageError, match='two proposers are called "rules"') as raised:
            ask()
        assert OURS.value in raised.value.seen and RIVAL.value in raised.value.seen
        assert "KERNELWRIGHT_NO_PLUGINS" in raised.value.do


def test_one_that_is_installed_twice_is_one(installed):
    installed(OURS, OURS)
    assert made("rules") == "Settings"


@pytest.mark.parametrize("entries", [(OURS, RIVAL, OTHERS), (OTHERS, RIVAL, OURS)])
def test_plugins_are_kept_out_wherever_one_is_asked_for(installed, monkeypatch, entries):
    installed(*entries)
    monkeypatch.setenv("KERNELWRIGHT_NO_PLUGINS", "1")
    assert plugins.names(GROUP) == ("rules",)
    assert made("rules") == "Settings"
    with pytest.raises(UsageError, match='unknown proposer "fast"'):
        plugins.find(GROUP, "fast")


@pytest.mark.parametrize("kind", ["dialects", "proposers", "loaders"])
def test_ours_are_found(kind):
    assert plugins.names(f"kernelwright.{kind}")


def test_a_checkout_that_was_never_installed_is_told_what_to_do(installed):
    installed(OTHERS)
    with pytest.raises(UsageError, match="not installed in this Python") as raised:
        plugins.find(GROUP, "rules")
    assert "pip install -e ." in raised.value.do


def test_of_very_many_words_not_all_are_named():
    said = nearest("nothing like them", [f"case_{n}" for n in range(600)])
    assert said.startswith("choose one of: case_0, ") and said.endswith("and 560 others")
