"""Clocks and neighbours of the machine while a verdict was timed."""

from __future__ import annotations

from alembic import op

revision = "m005"
down_revision = "m004"


def upgrade() -> None:
    # Null where nothing was timed, and in verdicts of judges that did not look.
    op.execute("ALTER TABLE evaluation ADD COLUMN conditions TEXT")
