"""Run by alembic: applies the migrations on the connection that the archive hands over.

The archive holds the transaction, so a migration that is killed half way leaves nothing behind.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
