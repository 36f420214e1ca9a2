"""Time the page of a very large audit, and tell the size of a usual one: python -m tests.benchmarks.pages.

Beside it, as a baseline, the same report as JSON in the same run.
"""

import time
from collections.abc import Callable

from specaudit.render.registry import render
from tests.render.pages import every_chart, large, recorded

FINDINGS = 10_000


def timed(work: Callable[[], str]) -> tuple[float, int]:
    """Return the shortest of three times in seconds, and the bytes that came out."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        text = work()
        times.append(time.perf_counter() - began)
    return min(times), len(text.encode())


def main() -> None:
    """Print a line for each."""
    shown = {f"{FINDINGS:,} findings": large(FINDINGS), "a recorded audit": recorded(), "every chart": every_chart()}
    for name, report in shown.items():
        for form in ("html", "json"):
            seconds, size = timed(lambda form=form, report=report: render(form, report))  # type: ignore[misc]
            print(f"{name:<18} {form:<5} {seconds:6.2f} s {size / 1000:>10,.0f} kB")


if __name__ == "__main__":
    main()
