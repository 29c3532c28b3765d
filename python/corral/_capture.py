"""What wrappers of the capture share.

A wrapper does its own work inside `try` and calls what it wraps outside of it: what the script would see without the
capture it sees with it. After the first error of ours everything is passed through.
"""

from __future__ import annotations


class Switch:
    """Off for good after an error of ours."""

    on = True


def give_up() -> None:
    Switch.on = False
