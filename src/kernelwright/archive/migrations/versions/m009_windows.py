"""How a verdict was timed: the calls in a window, single calls, and a call that does nothing."""

from __future__ import annotations

from alembic import op

revision = "m009"
down_revision = "m008"


def upgrade() -> None:
    # Null where nothing was timed, and in verdicts of judges that timed each call by itself.
    op.execute("ALTER TABLE evaluation ADD COLUMN windows TEXT")
