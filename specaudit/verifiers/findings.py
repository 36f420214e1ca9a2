"""What is asked of a verifier: the right law on every path, in every row, and at temperature 0."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np

from specaudit.model.finding import Effect, Finding, Verdict, Witness
from specaudit.stats.intervals import proportion_upper
from specaudit.verifiers.calls import Caller
from specaudit.verifiers.laws import TOLERANCE, Part, judge
from specaudit.verifiers.worlds import (
    NOTHING,
    Batch,
    Laws,
    Tokens,
    VerifierWorld,
    completed,
    draw_batch,
    half_used_world,
    one_hot_world,
    random_world,
)

_BATCH = 4096
_DRAFTS = 4
_VOCABULARY = 6
_LENGTHS = np.array([0.125, 0.125, 0.125, 0.125, 0.5])
"""Shares of ragged rows with 0 to 4 drafts: long ones reach all places, so there are more of them."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """Outcomes of many rows, in the order in which they stood in their batches.

    Attributes:
        world: Number of each row's world `[N]`.
        num_draft: Drafts of each row `[N]`.
        n_out: Tokens emitted `[N]`.
        words: What was emitted, continued by the target up to the bonus token, then −1 `[N, K + 1]`.
    """

    world: Tokens
    num_draft: Tokens
    n_out: Tokens
    words: Tokens


def law(caller: Caller, rng: np.random.Generator, rows: int, alpha: float) -> Finding:
    """Hold the joint law of whole steps against the target's, in worlds small enough to count them."""
    random = _worlds(rng, vocabulary_size=3, drafts=2, agreements=(0.7, 0.2))
    parts = [
        _steps(random, _verified(caller, rng, random, rows, ragged=False), "random worlds"),
        _steps((half := half_used_world(),), _verified(caller, rng, (half,), rows, ragged=False), "half-used drafts"),
    ]
    return judge("law", "Steps, continued by the target to their full length,", parts, alpha)


def path(caller: Caller, rng: np.random.Generator, rows: int, alpha: float) -> Finding:
    """Hold every place of a step against its law, where drafts are mostly accepted and where mostly rejected."""
    parts, taken = [], np.zeros(_DRAFTS + 1, dtype=np.int64)
    for agreement, told in ((0.85, "drafts mostly accepted"), (0.15, "drafts mostly rejected")):
        worlds = _worlds(rng, vocabulary_size=_VOCABULARY, drafts=_DRAFTS, agreements=(agreement,))
        found = _verified(caller, rng, worlds, rows, ragged=False)
        parts += [_place(worlds, found, i, told) for i in range(_DRAFTS + 1)]
        taken += np.bincount(found.n_out - 1, minlength=_DRAFTS + 1)
    names = [*(f"draft {i + 1} rejected" for i in range(_DRAFTS)), "bonus tokens drawn"]
    coverage: dict[str, int | None] = dict(zip(names, taken.tolist(), strict=True))
    finding = judge("path", "Tokens at every place of a step", parts, alpha)
    never = tuple(f"it never happens: {name}" for name, count in coverage.items() if not count)
    return msgspec.structs.replace(finding, coverage=coverage, notes=never)


def ragged(caller: Caller, rng: np.random.Generator, rows: int, alpha: float) -> Finding:
    """Hold rows of mixed worlds and lengths, in random order, against their own laws, and neighbours as a pair."""
    worlds = _worlds(rng, vocabulary_size=_VOCABULARY, drafts=_DRAFTS, agreements=(0.7, 0.3), padding=1)
    # Twice as many, since half of the rows end before the last place.
    found = _verified(caller, rng, worlds, 2 * rows, ragged=True)
    places = [_place(worlds, found, i, "rows of different lengths") for i in range(_DRAFTS + 1)]
    return judge("ragged", "Rows of ragged batches", [*places, _neighbours(worlds, found)], alpha)


def greedy(caller: Caller, rng: np.random.Generator, rows: int, alpha: float) -> Finding:
    """Where the target is certain of every token, nothing else may be emitted; exact, so one row decides."""
    world = one_hot_world(rng, vocabulary_size=_VOCABULARY, drafts=_DRAFTS)
    found = _verified(caller, rng, (world,), rows, ragged=True)
    certain = world.p.argmax(axis=2)
    word, before = [], NOTHING
    for i in range(_DRAFTS + 1):
        before = int(certain[i, before])
        word.append(before)
    wrong = (found.words >= 0) & (found.words != np.array(word))
    rows_wrong = wrong.any(axis=1)
    count, total = int(rows_wrong.sum()), len(rows_wrong)
    witness = None
    if count:
        row, place = map(int, np.argwhere(wrong)[0])
        witness = Witness(
            what=f"token {found.words[row, place]} at place {place} of a step in which {word[place]} was certain",
            observed=count / total,
            expected=0.0,
            unit="share of rows",
        )
    return Finding(
        check="greedy",
        verdict=Verdict.VIOLATES if count else Verdict.CONFORMS,
        required=True,
        summary=f"With one-hot target laws {count:,} of {total:,} rows emit something else than what is certain.",
        effect=Effect(
            name="share of rows",
            value=count / total,
            low=None,
            high=proportion_upper(count, total, alpha),
            confidence=1 - alpha,
            tolerance=TOLERANCE,
        ),
        witness=witness,
    )


def _worlds(
    rng: np.random.Generator, *, vocabulary_size: int, drafts: int, agreements: tuple[float, ...], padding: int = 0
) -> tuple[VerifierWorld, ...]:
    return tuple(
        random_world(rng, vocabulary_size=vocabulary_size, drafts=drafts, agreement=agreement, padding=padding)
        for agreement in agreements
    )


def _verified(
    caller: Caller, rng: np.random.Generator, worlds: tuple[VerifierWorld, ...], rows: int, *, ragged: bool
) -> Verified:
    """Have batches verified until there are that many rows."""
    parts = [_outcome(caller, rng, batch) for batch in _batches(rng, worlds, rows, ragged=ragged)]
    return Verified(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in Verified.__dataclass_fields__}
    )


def _batches(
    rng: np.random.Generator, worlds: tuple[VerifierWorld, ...], rows: int, *, ragged: bool
) -> Iterator[Batch]:
    drafts = worlds[0].drafts
    for start in range(0, rows, _BATCH):
        size = min(_BATCH, rows - start)
        lengths = rng.choice(drafts + 1, size=size, p=_LENGTHS) if ragged else np.full(size, drafts)
        yield draw_batch(rng, worlds, rng.integers(len(worlds), size=size), lengths)


def _outcome(caller: Caller, rng: np.random.Generator, batch: Batch) -> Verified:
    out, n_out = caller(batch)
    words = completed(rng, batch, out, n_out)
    return Verified(world=batch.world, num_draft=batch.num_draft, n_out=n_out, words=words)


def _steps(worlds: tuple[VerifierWorld, ...], found: Verified, told: str) -> Part:
    """Whole steps of three tokens out of three."""
    shape = (3, 3, 3)
    labels = [f"tokens {' '.join(map(str, word))}" for word in np.ndindex(shape)]
    return Part(
        name=f"steps of 3 tokens, {told}",
        stratum=found.world,
        cell=np.ravel_multi_index(tuple(found.words.T), shape),
        laws=np.stack([_word_law(one) for one in worlds]),
        labels=[labels for _ in worlds],
    )


def _word_law(world: VerifierWorld) -> Laws:
    """Law of the words of three tokens `[V³]`."""
    p = world.p
    joint: Laws = p[0, NOTHING, :, None, None] * p[1, :, :, None] * p[2, None]
    return joint.ravel()


def _place(worlds: tuple[VerifierWorld, ...], found: Verified, place: int, told: str) -> Part:
    """The tokens at one place of the steps, each in the context of the token before."""
    vocabulary = worlds[0].vocabulary_size
    rows = np.flatnonzero(found.words[:, place] >= 0)
    before = found.words[rows, place - 1] if place else np.full(len(rows), NOTHING)
    behind = [f" behind token {token}" if place else "" for token in range(vocabulary)]
    return Part(
        name=f"{'the first token' if not place else f'token {place + 1}'} of a step, {told}",
        stratum=found.world[rows] * vocabulary + before,
        cell=found.words[rows, place],
        laws=np.concatenate([one.p[place] for one in worlds]),
        labels=[[f"token {token}{context}" for token in range(vocabulary)] for _ in worlds for context in behind],
    )


def _neighbours(worlds: tuple[VerifierWorld, ...], found: Verified) -> Part:
    """The first tokens of two neighbouring rows, which must be independent."""
    vocabulary, pairs = worlds[0].vocabulary_size, len(found.words) // 2
    first = [one.p[0, NOTHING] for one in worlds]
    world, token = found.world[: 2 * pairs].reshape(-1, 2), found.words[: 2 * pairs, 0].reshape(-1, 2)
    labels = [f"tokens {one} and {other}" for one, other in np.ndindex(vocabulary, vocabulary)]
    return Part(
        name="the first tokens of two neighbouring rows",
        stratum=world[:, 0] * len(worlds) + world[:, 1],
        cell=token[:, 0] * vocabulary + token[:, 1],
        laws=np.stack([np.outer(one, other).ravel() for one in first for other in first]),
        labels=[labels for _ in range(len(worlds) ** 2)],
    )
