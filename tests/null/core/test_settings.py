import pytest

from kernelwright.core.device import Device
from kernelwright.core.errors import UsageError
from kernelwright.core.settings import load_settings, parse_seconds


def test_argument_beats_file_beats_default(tmp_path):
    (tmp_path / "kernelwright.toml").write_text('device = "cuda"\nbudget_s = "5m"\n')
    settings = load_settings(tmp_path, device="cpu", seed=None)
    assert (settings.device, settings.budget_s, settings.seed) == ("cpu", 300.0, 0)


def test_unknown_key_names_the_nearest(tmp_path):
    with pytest.raises(UsageError, match='did you mean "budget_s"'):
        load_settings(tmp_path, budget="60s")


def test_file_that_is_not_toml_says_where(tmp_path):
    (tmp_path / "kernelwright.toml").write_text("device = ")
    with pytest.raises(UsageError, match="not TOML"):
        load_settings(tmp_path)


@pytest.mark.parametrize("value", [3, True, ["cpu"]])
def test_value_of_the_wrong_type_is_refused(tmp_path, value):
    with pytest.raises(UsageError, match="device"):
        load_settings(tmp_path, device=value)


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
