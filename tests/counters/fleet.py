"""Simulated servers on which everything happens: restarts, sleep, other people's traffic, pages that do not come."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from specaudit.counters.acceptance import acceptance
from specaudit.counters.interface import Reading
from specaudit.counters.window import Window
from specaudit.counters.windows import window

from .simulated import Server

EVENTS = ("restart", "foreign", "gap", "busy", "asleep")
RATES = (0.04, 0.04, 0.04, 0.03, 0.03)
"""How often each happens in a window, one at most."""


@dataclass(kw_only=True)
class Tally:
    """What became of the windows of a fleet."""

    windows: int = 0
    valid: int = 0
    valid_with_a_reset: int = 0
    valid_with_foreign_tokens: int = 0
    valid_without_a_mark: int = 0
    """On servers that tell no lifetime, and whose client does not know what it received."""
    clean: int = 0
    clean_and_kept: int = 0
    contradictions: int = 0
    intervals: int = 0
    covering: int = 0
    widths: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class _Judged:
    window: Window
    reset: bool
    foreign: bool
    clean: bool


def tally(seeds: Iterable[int], confidence: float = 0.99) -> Tally:
    """Simulate a server for each seed and judge its windows."""
    found = Tally()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        alpha, draft_tokens = rng.uniform(0.3, 0.95), int(rng.integers(1, 7))
        marked, known = bool(rng.integers(2)), bool(rng.integers(2))
        judged = _served(rng, Server(seed, alpha, draft_tokens, marked=marked), known)
        _count(found, judged, marked=marked, known=known)
        figures = acceptance([one.window for one in judged], confidence)
        interval = figures.verifier_length.interval if figures and figures.verifier_length else None
        if interval is not None:
            truth = (1 - alpha ** (draft_tokens + 1)) / (1 - alpha)  # Leviathan et al. 2023, equation 1
            found.intervals += 1
            found.covering += interval.low <= truth <= interval.high
            found.widths.append(interval.high - interval.low)
    return found


def _served(rng: np.random.Generator, server: Server, known: bool) -> list[_Judged]:
    judged = []
    before, received, sequences, reset, foreign, unclean = server.read(), 0, 0, False, False, False
    for _ in range(int(rng.integers(24, 40))):
        event = rng.choice((*EVENTS, ""), p=(*RATES, 1 - sum(RATES)))
        own, cap = int(rng.integers(1, 6)), int(rng.integers(16, 80))
        received += server.serve(own, cap)
        if event == "restart":
            reset |= server.drafts > 0
            server.restart()
            received += server.serve(own, cap)
            own *= 2
        elif event == "foreign":
            server.serve(int(rng.integers(1, 4)), int(rng.integers(16, 80)))
            foreign = True
        sequences += own
        server.running, server.asleep = int(event == "busy"), event == "asleep"
        unclean |= event not in ("", "gap")
        if event == "gap":
            continue
        after: Reading = server.read()
        span = window(before, after, received if known else None, sequences if known else None)
        judged.append(_Judged(window=span, reset=reset, foreign=foreign, clean=not unclean))
        before, received, sequences, reset, foreign = after, 0, 0, False, False
        unclean = event in ("busy", "asleep")
    return judged


def _count(found: Tally, judged: list[_Judged], *, marked: bool, known: bool) -> None:
    for one in judged:
        valid = one.window.status == "valid"
        found.windows += 1
        found.valid += valid
        found.valid_with_a_reset += valid and one.reset
        found.valid_with_foreign_tokens += valid and one.foreign and known
        found.valid_without_a_mark += valid and not marked and not known
        found.contradictions += one.window.contradicts
        if marked or known:
            found.clean += one.clean
            found.clean_and_kept += one.clean and valid
