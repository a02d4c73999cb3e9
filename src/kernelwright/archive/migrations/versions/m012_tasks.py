"""Indexes that find tasks by name, and by when they were run."""

from __future__ import annotations

from alembic import op

revision = "m012"
down_revision = "m011"


def upgrade() -> None:
    op.create_index("task_by_name", "task", ["name"])
    op.drop_index("run_by_task", "run")
    op.create_index("run_by_task", "run", ["task", "id"])
