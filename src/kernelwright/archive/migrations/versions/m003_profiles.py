"""What is known about a judged candidate's kernels, for models to read."""

from __future__ import annotations

from alembic import op

revision = "m003"
down_revision = "m002"


def upgrade() -> None:
    # Written out: alembic would make the table anew on SQLite, for a default alone.
    op.execute("ALTER TABLE evaluation ADD COLUMN profile TEXT NOT NULL DEFAULT '[]'")
