import pytest

from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import Settings, load_settings, parse_seconds


def test_argument_beats_file_beats_default(tmp_path):
    (tmp_path / "kernelwright.toml").write_text('device = "cuda"\nbudget_s = "5m"\n')
    settings = load_settings(tmp_path, device="cpu", seed=None)
    assert (settings.device, settings.budget_s, settings.seed) == ("cpu", 300.0, 0)


def test_unknown_key_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match='did you mean "budget_s"'):
        load_settings(tmp_path, budget="60s")


@pytest.mark.parametrize("text", [b"device = ", b'device = "caf\xe9"'])
def test_file_that_is_not_toml_says_where(tmp_path, text):
    (tmp_path / "kernelwright.toml").write_bytes(text)
    with pytest.raises(UsageError, match="not TOML"):
        load_settings(tmp_path)


@pytest.mark.parametrize("value", [3, True, ["cpu"]])
def test_value_of_the_wrong_type_is_refused(tmp_path, value):
    with pytest.raises(UsageError, match="device"):
        load_settings(tmp_path, device=value)


@pytest.mark.parametrize("device", ["hip", "hip:gfx942"])
def test_a_device_on_which_nothing_can_be_judged_is_refused_with_what_to_do(device):
    with pytest.raises(UsageError, match=r"cannot be judged on hip") as refused:
        Settings(device=device)
    assert refused.value.seen == device and "--device cpu or cuda" in refused.value.do


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("60s", 60), ("5m", 300), ("1.5h", 5400)]
)
def test_times(text, seconds):
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5s", "0", "5 parsecs"])
def test_bad_times_are_refused(text):
    with pytest.raises(UsageError):
        parse_seconds(text)


@pytest.mark.parametrize(
    "text", ["cpu", "cuda", "cuda:sm_90", "cuda:1", "hip:gfx942", "cuda:sm_90:2"]
)
def test_device_text_round_trips(text):
    assert str(Device.parse(text)) == text


@pytest.mark.parametrize("text", ["cuda:sm_90", "cuda:sm_90:1", "cuda:sm_90:7"])
def test_gpus_of_one_make_are_one_device_to_an_archive(text):
    assert Device.parse(text).key == "cuda:sm_90"


def test_unknown_device_names_the_nearest():
    with pytest.raises(UsageError, match='did you mean "cuda"'):
        Device.parse("cude")


WRONG = {
    "no such cache": ({"cache": "hot"}, "choose one of: cold, warm"),
    "no word for a cache": ({"cache": ""}, "choose one of: cold, warm"),
    "a cache in capitals": ({"cache": "Cold"}, 'did you mean "cold"?'),
    "no such precision": ({"precision": "b16"}, 'did you mean "bf16"?'),
    "less than no time": ({"budget_s": -3.0}, "more than 0"),
    "no time": ({"budget_s": 0.0}, "more than 0"),
    "no number": ({"budget_s": float("nan")}, "more than 0"),
    "time without end": ({"budget_s": float("inf")}, "more than 0"),
    "a negative budget of tokens": ({"budget_tokens": -5}, "0 for no limit"),
    "a negative budget of money": ({"budget_usd": -2.0}, "0 for no limit"),
    "no whole number": ({"budget_tokens": 2.5}, "give a whole number"),
    "no text": ({"device": 3}, "give a text"),
    "a bool for a number": ({"threads": True}, "give a whole number"),
    "a bool for money": ({"budget_usd": True}, "give a number"),
    "a number for a bool": ({"timed": 1}, "give true or false"),
    "a text for a number": ({"seed": "x"}, "give a whole number"),
    "a number for a list": ({"dialects": 3}, "give a list of texts"),
    "a list of numbers": ({"dialects": [3]}, "give a list of texts"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_that_does_not_fit_says_what_would(tmp_path, case):
    given, remedy = WRONG[case]
    with pytest.raises(UsageError, match=f'setting "{next(iter(given))}" does not fit') as raised:
        load_settings(tmp_path, **given)
    assert remedy in raised.value.do


@pytest.mark.parametrize("given", [{"cache": "hot"}, {"budget_s": -1.0}, {"threads": True}])
def test_settings_are_checked_however_they_are_made(given):
    with pytest.raises(UsageError):
        Settings(**given)


def test_a_text_stands_for_a_list_of_one(tmp_path):
    (tmp_path / "kernelwright.toml").write_text('dialects = "cpp"\n')
    assert load_settings(tmp_path).dialects == ("cpp",)


def test_whole_numbers_are_numbers(tmp_path):
    settings = load_settings(tmp_path, budget_s=90, budget_usd=2)
    assert (settings.budget_s, settings.budget_usd) == (90.0, 2.0)


def test_a_time_that_cannot_be_read_names_its_setting(tmp_path):
    with pytest.raises(UsageError, match='"budget_s"'):
        load_settings(tmp_path, budget_s=True)
