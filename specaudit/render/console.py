"""Where text for a terminal is laid out: text from elsewhere is shown as it is, square brackets and colons with it.

Of rich's own notation nothing is obeyed: a server's message with `[/x]` in it would be an error, and one with `[ab]`
or `:smile:` another message.
"""

from typing import IO

from rich.console import Console


def console(out: IO[str], width: int, *, color: bool = False) -> Console:
    """Return a console of `width` columns that writes to `out`, with ANSI colours or without any escape sequence."""
    return Console(
        file=out,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        markup=False,
        emoji=False,
    )
