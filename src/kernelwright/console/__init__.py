"""What a terminal shows: tables, progress, answers as text or JSON, and what Ctrl-C means."""
