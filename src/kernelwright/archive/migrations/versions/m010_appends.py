"""Which appends have been done, and indexes for archives of millions of verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m010"
down_revision = "m009"


def upgrade() -> None:
    op.create_table(
        "appended",
        sa.Column("id", sa.Text, primary_key=True),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("run_by_task", "run", ["task"])
    open_ones = sa.text("finished_at IS NULL")
    op.create_index(
        "run_not_finished", "run", ["id"], sqlite_where=open_ones, postgresql_where=open_ones
    )
    op.create_index("proposal_by_run", "proposal", ["run"])
    op.create_index("proposal_by_call", "proposal", ["call"])
