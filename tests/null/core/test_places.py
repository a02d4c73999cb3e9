"""What may be written over, and that it is replaced whole."""

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.core.places import require_file, require_folder, written_whole

MARK = "<ours>"


@pytest.mark.parametrize("text", [None, "", "head <ours> rest"])
def test_a_place_is_free_empty_or_ours(tmp_path, text):
    path = tmp_path / "new/page"
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    require_file(path, "page", MARK)
    assert [file.read_text() for file in path.parent.iterdir()] == ([] if text is None else [text])


def test_what_is_not_ours_is_refused(tmp_path):
    path = tmp_path / "page"
    path.write_text("theirs")
    for other in (path, "/dev/null"):
        with pytest.raises(UsageError, match="no page of kernelwright's"):
            require_file(other, "page", MARK)
    with pytest.raises(IsADirectoryError):
        require_file(tmp_path, "page", MARK)


def test_a_file_is_replaced_whole_through_its_links(tmp_path):
    path, link = tmp_path / "page", tmp_path / "link"
    path.write_text("old")
    link.symlink_to(path)
    with pytest.raises(ZeroDivisionError), written_whole(link) as partial:
        partial.write_text("half")
        1 / 0  # noqa: B018
    assert path.read_text() == "old"
    with written_whole(link) as partial:
        partial.write_text("new")
    assert link.is_symlink() and path.read_text() == "new"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "page"]


def test_a_name_may_be_as_long_as_names_are(tmp_path):
    path = tmp_path / ("n" * 255)
    with written_whole(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"


def test_an_error_names_the_file_that_was_asked_for():
    with pytest.raises(OSError, match=r"'/proc/report\.html'"):
        require_file("/proc/report.html", "report", "mark")
    with pytest.raises(OSError, match="'/proc'"):
        require_folder("/proc")
