"""The tuner's trials: one row for each candidate that it tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m007"
down_revision = "m006"
REAL = sa.Double().with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "trial",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run", sa.Text, sa.ForeignKey("run.id"), nullable=False),
        sa.Column("task", sa.Text, sa.ForeignKey("task.digest"), nullable=False),
        sa.Column("environment", sa.Text, sa.ForeignKey("environment.digest"), nullable=False),
        sa.Column("tuner_version", sa.Integer, nullable=False),
        sa.Column("candidate", sa.Text, nullable=False),
        sa.Column("dialect", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("schedule", sa.Text, nullable=False),
        sa.CheckConstraint("json_valid(schedule)").ddl_if(dialect="sqlite"),
        sa.Column("detail", sa.Text, nullable=False),
        sa.Column("time_ns", REAL, nullable=True),
        sa.Column("reference_ns", REAL, nullable=True),
        sa.Column("n_samples", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_strict=True,
    )
    op.create_index("trial_by_task", "trial", ["task"])
