"""Mixed requests: kinds whose drafts are accepted more or less often, and when they come."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specaudit.claims.tokens import Floats
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.worlds import SmallModel, World

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of request.

    Attributes:
        name: e.g. `code`.
        share: of all requests.
        acceptance: probability that a draft is accepted, .5 to 1.
    """

    name: str
    share: float
    acceptance: float


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Requests as they come.

    Attributes:
        kinds: the kinds.
        kind: number of each request's kind `[N]`.
        tokens: tokens that each asks for `[N]`.
        arrivals: seconds at which they come, ascending `[N]`.
        seeds: of their tokens `[N]`.
    """

    kinds: tuple[Kind, ...]
    kind: Ints
    tokens: Ints
    arrivals: Floats
    seeds: Ints


def workload(
    kinds: Sequence[Kind], *, requests: int, rate: float | None, shortest: int, longest: int, seed: int
) -> Workload:
    """Draw a workload.

    Args:
        kinds: the kinds; their shares are made to sum to 1.
        requests: how many requests `N`.
        rate: requests a second, coming independently of each other; None where all are there from the start.
        shortest: fewest tokens that a request asks for.
        longest: most.
        seed: of everything drawn.

    Raises:
        ValueError: an acceptance or a share is out of range.
    """
    if not kinds or any(kind.share <= 0 for kind in kinds) or any(not 0.5 <= kind.acceptance <= 1 for kind in kinds):
        raise ValueError("kinds need shares above 0 and acceptances from .5 to 1")
    rng = np.random.default_rng(seed)
    shares = np.array([kind.share for kind in kinds])
    gaps = np.zeros(requests) if rate is None else rng.exponential(1 / rate, requests)
    return Workload(
        kinds=tuple(kinds),
        kind=rng.choice(len(kinds), requests, p=shares / shares.sum()),
        tokens=rng.integers(shortest, longest + 1, requests),
        arrivals=np.cumsum(gaps),
        seeds=np.arange(requests),
    )


def world_of(kinds: Sequence[Kind]) -> World:
    """Return a world in which a request stays of its kind: two tokens for each, told by the prompt.

    The target says each of the two as often; the drafter leans, so that Σ min(p, q) is the kind's acceptance.
    """
    size = 2 * len(kinds)
    target, draft = np.zeros((size, size)), np.zeros((size, size))
    for number, kind in enumerate(kinds):
        own = slice(2 * number, 2 * number + 2)
        target[own, own] = 0.5
        draft[own, own] = 1.5 - kind.acceptance, kind.acceptance - 0.5
    start = np.full(size, 1 / size)
    return World(
        name="mixed",
        target=MarkovModel(start=start, transition=target),
        drafter=SmallModel(model=MarkovModel(start=start, transition=draft)),
    )
