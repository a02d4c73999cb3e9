"""What an answer shows on a terminal, as text."""

import io

from rich.console import Console


def shown(answer, width=140):
    text = io.StringIO()
    console = Console(file=text, width=width)
    for thing in answer.shown:
        console.print(thing)
    return text.getvalue()
