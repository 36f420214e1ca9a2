"""The order in which the arms of an audit are asked: side by side in time, and at random.

What changes while an audit runs, such as load, or an engine that learns from what it was asked, then meets all arms
alike.
"""

from collections.abc import Sequence

import numpy as np

from specaudit.model.plan import PlannedRequest


def interleaved(rng: np.random.Generator, requests: Sequence[PlannedRequest], group: int) -> tuple[PlannedRequest, ...]:
    """Return requests with each `group` of neighbours shuffled, so that the start of them is balanced too."""
    keys = np.arange(len(requests)) // group + rng.random(len(requests))
    return tuple(requests[place] for place in np.argsort(keys, kind="stable"))
