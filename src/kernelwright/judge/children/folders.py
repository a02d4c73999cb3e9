"""What a child's folders take: of the machine's memory, or of a disk that others use as well."""

from __future__ import annotations

import os

MOST_SHARE = 0.5
"""Of a disk's free space and of its free files, as they were when a child began."""


def bytes_in(folder: str) -> int:
    """What the files of a whole file system in memory take, open or not."""
    about = os.statvfs(folder)
    return (about.f_blocks - about.f_bfree) * about.f_frsize


class Disk:
    """The disk under a folder, where a child's scratch is no file system of its own.

    Whose files take its space is not looked at: deleted ones that are mapped have no place where
    that could be seen. Who is ended for another's files is judged once more, as for any signal.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._bytes, self._files = self._free()

    def is_filled(self) -> bool:
        """Whether most of what was free is no more."""
        n_bytes, n_files = self._free()
        return n_bytes < MOST_SHARE * self._bytes or n_files < MOST_SHARE * self._files

    def _free(self) -> tuple[int, int]:
        about = os.statvfs(self._folder)
        return about.f_bavail * about.f_frsize, about.f_favail
