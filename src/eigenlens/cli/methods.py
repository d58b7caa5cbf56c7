"""``eigenlens methods``: what can be fitted."""

from __future__ import annotations

from eigenlens._text import command_name

from ._options import Json, echo_json

__all__ = ["methods"]


def methods(json: Json = False) -> None:
    """List the methods and what they promise."""
    from eigenlens._register import fittable

    found = {
        command_name(name): {
            "class": name,
            "kind": method.kind,
            "finds": method.finds,
            "promises": list(method.promises),
            "origin": method.origin,
        }
        for name, method in fittable().items()
    }
    if json:
        echo_json(found)
        return
    from ._console import Page

    console = Page()
    for name, method in found.items():
        console.print(f"[bold]{name}[/bold]  {method['finds']}")
        about = f"from {method['origin']}"
        if method["origin"] == "eigenlens":
            about = f"promises: {', '.join(method['promises']).replace('_', ' ') or 'none'}"
        console.print(f"    {about}\n", style="dim")
    console.print("Try: eigenlens fit METHOD DATA, or eigenlens fit METHOD --help")
