"""How threads that compute wait for each other. Imports nothing that loads libgomp."""

from __future__ import annotations

import os
import time
from typing import Callable

_LOOKS = 5  # at the programs that run; most of them decide
_LOOK_S = 0.002  # between two


def usable_processors() -> int:
    """How many processors this process may use."""
    if "OMP_PROC_BIND" in os.environ or not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1  # libgomp may have bound this thread to one of them
    return len(os.sched_getaffinity(0))


def running_threads() -> int:
    """How many threads of the whole machine run or wait for a processor, with this one; 0: not known."""
    try:
        with open("/proc/loadavg", encoding="ascii") as file:
            return int(file.read().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 0


def _computing_threads() -> int:
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else usable_processors()


def spin_count(running: Callable[[], int] = running_threads, processors: int = 0) -> str:
    """How often a thread of libgomp looks for work before it sleeps, for ``GOMP_SPINCOUNT``.

    Where other programs run, so that there are not enough processors for the threads that compute, too, a
    thread sleeps at once: the one that it waits for may be the one that has no processor.
    """
    most, n_shared, n_own = processors or os.cpu_count() or 1, 0, 0
    while max(n_shared, n_own) <= _LOOKS // 2:
        if n_shared + n_own > 0:
            time.sleep(_LOOK_S)
        if running() - 1 + _computing_threads() > most:
            n_shared += 1
        else:
            n_own += 1
    return "0" if n_shared > n_own else "1000"
