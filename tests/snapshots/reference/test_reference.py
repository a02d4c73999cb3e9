"""The pages of docs/reference are what ``python docs/generate.py`` writes."""

import dataclasses
import re
from collections.abc import Iterator

import click
import pytest
from docs import generate

from kernelwright.cli import main
from kernelwright.core.settings import Settings


def options(command: click.Command) -> Iterator[click.Option]:
    """The options of a command, and of those below it."""
    yield from (one for one in command.params if isinstance(one, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from options(command.get_command(context, name))


def test_every_option_says_what_it_does():
    """With a verb, as a sentence: not what of which thing it is."""
    for option in options(main):
        assert option.help, option.name
        assert not re.match(r"(Of|For|That|Per|As|Default)\b", option.help), option.help
        assert re.match(r"[A-Z][^.]", option.help), option.help


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_up_to_date(name):
    assert (generate.FOLDER / name).read_text() == generate.PAGES[name](), (
        "run python docs/generate.py"
    )


def test_every_setting_has_a_meaning_and_an_option():
    names = {field.name for field in dataclasses.fields(Settings)}
    assert set(generate.field_notes(Settings)) == names
    assert names - set(generate.options_of_settings()) == {"timed", "compiled"}


def test_every_public_name_is_documented():
    """A name without a docstring would have an empty section."""
    sections = re.findall(r"^## kw\.(\w+)$", generate.python(), re.M)
    assert set(sections) == set(generate.kw.__all__)
