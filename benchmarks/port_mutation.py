"""Rows of the lifter's tables, changed: does a model of a mnemonic notice each change?

    python benchmarks/port_mutation.py [--most 1]

The first of each operator in a row's C, and of each kind of access and atomic operation, is changed
alone. The models are those of tests/host/lift, which makes one change of each entry of the tables.
Rows without a model are left out: approximations, and halves other than bfloat16. Changes that
nothing notices are printed: some of them compute the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.host.lift import test_probes, test_warp_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, help="changes of one row, at most")
    most = parser.parse_args().most
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        of_warps = test_warp_rows.changed(test_warp_rows.CHANGEABLE, folder, most)
        vectors = test_probes.drawn()
        of_numbers = test_probes.changed(test_probes.ROWS, folder, vectors, most)
    for title, rows, (n, unnoticed) in (
        ("memory and warps", test_warp_rows.CHANGEABLE, of_warps),
        ("arithmetic", test_probes.ROWS, of_numbers),
    ):
        print(f"{title}: {n} changes of {len(rows)} rows, {len(unnoticed)} unnoticed")
        for mnemonic, changed in unnoticed:
            print(f"  {mnemonic}: {changed}")


if __name__ == "__main__":
    main()
