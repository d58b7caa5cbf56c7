"""Memory of this process, as the system counts it. Only Linux says."""

from __future__ import annotations

from pathlib import Path

__all__ = ["reset_peak", "resident"]


def reset_peak() -> int | None:
    """Forget the peak memory so far; return the memory in use (kB), or None if nobody tells.

    Not `resource.getrusage`: its peak starts at that of the parent process, and what the imports
    or the reading of the data needed would hide what a fit needs.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return resident("VmRSS")
    except OSError:
        return None


def resident(what: str) -> int:
    """Return a memory field (kB) of this process: ``VmRSS`` what it holds, ``VmHWM`` the peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what))
