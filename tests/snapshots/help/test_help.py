"""docs/cli.md is the help of every command; `pytest --snapshot-update` writes it anew."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click
from tests.snapshots.help.settings_table import given_by, meaning, table

from kernelwright.cli import main
from kernelwright.core.settings import Settings

DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"
INTRODUCTION = """\
# Commands

The help of every command, as `kernelwright COMMAND --help` prints it.

With `--json` stdout holds exactly one JSON object and talk goes to stderr; an error is
`{"error": {"what", "seen", "do"}}`. Exit codes: 0 done (`judge`: passed), 1 nothing passed
(`judge`: not passed), 2 wrong use or bad input, 3 the machine failed, 143 ended by SIGTERM, as by
Ctrl-C (which is 1).

- `judge`: `status`, `passed`, `reasons`, `kinds`, `speedup` (by baseline: `median`, `low`, `high`;
  absent where not measured), `strongest`, `median_ns`, `device`, `candidate`, `dialect`,
  `warnings`, `numerics`, `cost`, `guarantees`, `environment`, `conditions` (clocks and neighbours
  while it was timed, or null), `seed`, `judge_version`; `receipt`, its path where one was asked
  for. Each of `reasons` and `warnings` has a `code` ([all of them](reference/outcomes.md)) and a
  `detail`.
- `judge --repeat`: `stands` (true, false, or null where the machine is to blame), `differences`
  (what speaks against the receipt: another status, or a speedup whose interval has no point in
  common with the receipt's), `notes` (what else is different and speaks against nothing: software,
  machine, guarantees, warnings, and the kind, which is seen by samples), `task`, and two of the
  objects above, `receipt` and `verdict`. Exit codes: 0 stands, 1 does not, 2 a bad receipt, 3 not
  measured.
- `judge` of a folder: `task`, `verdicts` (the fastest first: `file` and the object above, or `file`
  and `error` where the file cannot be read), `candidates` (counts by status), `undecided` (files
  left where it was interrupted), `interrupted`, `archive`. With `--suite`: `tasks`, a list of
  these, `candidates`, `unmatched` (files that name no problem), `interrupted`, `archive`. A file
  whose verdict the archive holds (same candidate, workload, machine, software, judge) is not judged
  again; names that begin with `_` or `.` and the task's own file are left out.
- `optimize`: `best` (`digest`, `path`, `dialect`, `kinds`, `speedup`, `lineage`) or null,
  `candidates` (counts by status), `report`, `source` (the best, or the library setting that nothing
  beat), `strongest`, `baseline_ns`, `task`, `archive`, `interrupted`. With `--suite`: `tasks`, a
  list of these, with `candidates`, `geometric_mean` and `report` of the whole.
- `bench`: `levels` (means, quartiles, `fast` and `kinds` of each), `tasks` (as of `optimize`, with
  `level` and `problem`, and with `searched_at` where an earlier search counted), `not_run`,
  `report`, `policies` (of `--policy`: shares and means of each checkpoint by level, with
  intervals); for `port`: `translators`, each with `rates` by domain and the outcome of every
  program.
- `tasks generate`: `tasks` (`name`, `digest`, `family`, `number`, `steps`), `families` (counts),
  `seed`, `size`, `out`. `dataset build`: `pairs`, `tasks`, `splits`, `origins`, `statuses`
  (counts), `left` (tasks left out, by reason), `tests` (tasks that it stayed clear of), `out`.
- `show`: the proposal with its `source` and `evaluations`. `report`: `report`. `doctor`: lists by
  area.

A receipt is a JSON file: `task` and `candidate` (their text and digest), `settings`, `verdict`
(status, reasons, numerics, raw samples by series in nanoseconds, environment, guarantees, seed) and
`speedup`. Its repetition draws fresh seeds. It runs the task that the receipt holds in the judge's
own process, as judging that task's file would: look at a stranger's receipt before you repeat it.

The budget of a search is the time in which it begins candidates. Outside it lie

- reading the task, and computing what its inputs should give;
- the first candidate and the library settings that it is compared with, however long they take;
- the few that are built beside it, as long as the search has not taken twice its budget;
- the last measurement of up to three that look best.

With outputs of hundreds of megabytes each of these takes minutes.

## Plugins

Dialects, proposers and loaders of other packages are found through the entry points
`kernelwright.dialects`, `kernelwright.proposers` and `kernelwright.loaders`, beside the built-in
ones. Two of one name are an error: no plugin takes the place of another or of what is built in.
With the environment variable `KERNELWRIGHT_NO_PLUGINS` set, to anything, only what is built in is
found.

## Settings

A setting may stand in `kernelwright.toml` in the working folder, under its name: `budget_s = "5m"`,
`dialects = ["cpp"]`. It is a keyword argument of `kw.optimize` and `kw.judge` as well. The command
line and arguments win. Options that are in no row, such as `--suite`, are no settings.

"""


def document() -> str:
    return INTRODUCTION + table() + "".join(sections([], main))


def sections(words: list[str], command: click.Command) -> Iterator[str]:
    """The help of a command, and of those below it."""
    yield section(words, command)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in sorted(command.list_commands(context)):
            yield from sections([*words, name], command.get_command(context, name))


def section(words: list[str], command: click.Command) -> str:
    # With the settings of a real call: click keeps the first help option that it makes.
    settings = main.context_settings
    above = " ".join(["kernelwright", *words[:-1]])
    parent = click.Context(main, info_name=above, terminal_width=88, **settings)
    context = click.Context(command, info_name=words[-1], parent=parent) if words else parent
    title = " ".join(["kernelwright", *words])
    return f"\n## {title}\n\n```text\n{command.get_help(context)}\n```\n"


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


def test_the_document_is_what_help_prints(request):
    if request.config.getoption("update_snapshots"):
        DOCUMENT.write_text(document())
    assert DOCUMENT.read_text() == document(), "run pytest tests/snapshots/help --snapshot-update"


def test_every_setting_has_a_meaning_and_an_option():
    names = {field.name for field in dataclasses.fields(Settings)}
    assert set(meaning()) == names
    assert names - set(given_by()) == {"timed"}, "say in docs/cli.md which have no option"
    assert all(f"\n| `{name}` | " in document() for name in names)
