"""``eigenlens methods``: what can be fitted."""

from __future__ import annotations

from ._methods import by_command
from ._options import Json, echo_json

__all__ = ["methods"]


def methods(json: Json = False) -> None:
    """List the methods and what they promise."""
    from eigenlens._register import summary

    found = {
        name: {
            "class": method.__name__,
            "finds": summary(method),
            "promises": sorted(method.claims),
        }
        for name, method in by_command().items()
    }
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    for name, method in found.items():
        console.print(f"[bold]{name}[/bold]  {method['finds']}")
        promises = ", ".join(method["promises"]).replace("_", " ")
        console.print(f"    promises: {promises}\n", style="dim")
    console.print("Try: eigenlens fit METHOD DATA, or eigenlens fit METHOD --help")
