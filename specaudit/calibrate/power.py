"""How soon a fault is found, beside how soon it could be: medians to a verdict, and the Stein limit.

All in worlds of Markov chains, where the target's law in every context is known, and the drafter's.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from specaudit.calibrate.matrix import ALPHA
from specaudit.calibrate.subjects import DRAFT_TOKENS, decoder, family_of, reference_of, sampling_of, world_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import softmax
from specaudit.decoding.worlds import SmallModel
from specaudit.engines.reference import ReferenceEngine
from specaudit.laws.contexts import exact_laws
from specaudit.laws.processors import looks_back
from specaudit.model.calibration import Divergence, Verdicts
from specaudit.model.record import Record
from specaudit.model.request import Sampling
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process

LENGTH = 4 * (DRAFT_TOKENS + 1)
"""Tokens of a completion, as LAW1 asks for them."""

FAMILIES = ("rule", "q-contract", "parameters", "rng", "counters")
"""Families of which some members have a law of their own; the others bend it in ways that depend on the batch."""

DICTIONARY = {
    "mutant:resid-from-target": "resid-from-target",
    "mutant:resid-abs": "resid-abs",
    "mutant:accept-raw-p": "accept-raw-p",
    "mutant:match-then-p": "match-then-p",
    "mutant:inverted-ratio": "inverted-ratio",
    "mutant:argmax-draft-soft-q": "argmax-draft-soft-q",
    "mutant:lenience:0.8": "lenience 0.8",
    "mutant:lenience:0.9": "lenience 0.9",
}
"""Faults whose laws the portfolio bets on, each with what that law is called there."""

_BATCH = 512
_MOST_COMPLETIONS = 16_384
_CERTAIN = 5.0

Table: TypeAlias = npt.NDArray[np.float64]
Tokens: TypeAlias = npt.NDArray[np.int64]


class DivergenceTask(Record, frozen=True, kw_only=True, tag="divergence"):
    """Measure how far a subject's law is from the target's."""

    subject: str
    tokens: int
    seed: int


class VerdictTask(Record, frozen=True, kw_only=True, tag="verdicts"):
    """Some audits of one fault by betting."""

    subject: str
    without: str
    audits: int
    seed: int
    stream: int


def divergence_tasks(subjects: list[str], *, tokens: int, seed: int) -> list[DivergenceTask]:
    """Return the measurements of all subjects whose law can be told from the token before."""
    wanted = [subject for subject in subjects if _has_a_law(subject)]
    return [DivergenceTask(subject=subject, tokens=tokens, seed=seed) for subject in wanted]


def verdict_tasks(*, audits: int, seed: int) -> list[VerdictTask]:
    """Return the audits of all faults in the dictionary, with the bets on them and without, whatever their dose."""
    cases = [(subject, without) for subject, name in DICTIONARY.items() for without in ("", name.split()[0])]
    return [
        VerdictTask(subject=subject, without=without, audits=audits, seed=seed, stream=list(DICTIONARY).index(subject))
        for subject, without in cases
    ]


def divergence(task: DivergenceTask) -> Divergence:
    """Estimate the KL divergence of the subject's tokens from the target's law, given the token before.

    The plug-in estimate is biased by half a nat for each free cell, which is taken off (Miller and Madow 1955); what
    is left counts where it exceeds the bias five times.
    """
    world, sampling = world_of(task.subject), sampling_of(task.subject) or Sampling()
    laws = target_table(task.subject, sampling)
    counts = np.zeros(laws.shape)
    size, unknown = world.vocabulary_size, False
    for tokens in completions(decoder(task.subject), sampling, seed=task.seed, most=task.tokens // LENGTH):
        before = np.column_stack([np.full(len(tokens), size), tokens[:, :-1]])
        known = (tokens < size) & (before <= size)
        unknown = unknown or not known.all()
        np.add.at(counts, (before[known], tokens[known]), 1)
    total, seen = counts.sum(), counts > 0
    kl = None
    if not (unknown or (seen & (laws == 0)).any()):
        ratio = counts[seen] / (counts.sum(axis=1, keepdims=True) * laws)[seen]
        bias = (np.count_nonzero(laws) - len(laws)) / (2 * total)
        measured = float((counts[seen] * np.log(ratio)).sum() / total)
        kl = measured - bias if measured > _CERTAIN * bias else None
    return Divergence(subject=task.subject, kl=None if kl is None else float(f"{kl:.6g}"), tokens=int(total))


def verdicts(task: VerdictTask) -> Verdicts:
    """Bet on completions of the subject until the target's law is rejected, again and again."""
    laws = target_table(task.subject, Sampling())
    portfolio = Portfolio(ContextTable(p=laws, q=drafter_table(task.subject)))
    weights = np.exp(portfolio.log_weights)
    weight = float(weights[_named(portfolio, f"{DICTIONARY[task.subject]} ×")].max())
    if task.without:
        weights[_named(portfolio, task.without)] = 0
        with np.errstate(divide="ignore"):
            portfolio.log_weights = np.log(weights / weights.sum())
    scored = portfolio.score(ContextTable(p=laws, q=drafter_table(task.subject)))
    streams = np.random.SeedSequence(task.seed, spawn_key=(task.stream,)).spawn(task.audits)
    needed: list[int | None] = []
    for stream in streams:
        process = Process(portfolio)
        rng, at = np.random.default_rng(stream), None
        seed = int(stream.generate_state(1)[0])
        for tokens in completions(decoder(task.subject), Sampling(), seed=seed, most=_MOST_COMPLETIONS, batch=64):
            process.fold(scored, _tokens(tokens, laws.shape[1], rng))
            if (at := process.rejected_at(ALPHA)) is not None:
                break
        needed.append(at)
    return Verdicts(
        subject=task.subject, without=task.without, weight=0.0 if task.without else weight, tokens=tuple(needed)
    )


def completions(
    subject: SpeculativeDecoder, sampling: Sampling, *, seed: int, most: int, batch: int = _BATCH
) -> Iterator[Tokens]:
    """Yield completions of the empty prompt `[batch, LENGTH]`, until there are `most`."""
    parameters = ReferenceEngine(subject).parameters(sampling)
    for first, last in pairwise([*range(0, most, batch), most]):
        seeds = np.arange(first, last, dtype=np.uint64) + np.uint64(seed)
        prompts = np.empty((len(seeds), 0), dtype=np.int64)
        yield subject.generate(prompts, seeds, max_tokens=LENGTH, parameters=parameters).tokens


def target_table(subject: str, sampling: Sampling) -> Table:
    """Return the target's processed laws behind every token, and behind nothing in the last row `[V + 1, V]`."""
    revealed = ReferenceEngine(reference_of(subject)).law()
    assert revealed is not None
    laws, size = exact_laws(revealed, sampling), world_of(subject).vocabulary_size
    table = np.zeros((size + 1, size))
    for row, context in enumerate([*((token,) for token in range(size)), ()]):
        law = laws.next_law(laws.start(context)) or {}
        table[row, [token for token in law if isinstance(token, int)]] = list(law.values())
    return table


def drafter_table(subject: str) -> Table:
    """Return the drafter's laws, in the same rows."""
    maker, size = world_of(subject).drafter, world_of(subject).vocabulary_size
    assert isinstance(maker, SmallModel)
    assert isinstance(maker.model, MarkovModel)
    return np.asarray(softmax(maker.model.logits(np.array([*range(size), -1]))))


def _named(portfolio: Portfolio, start: str) -> npt.NDArray[np.bool_]:
    """Which components have names that begin so `[J]`."""
    return np.array([name.startswith(start) for name in portfolio.names])


def _has_a_law(subject: str) -> bool:
    sampling = sampling_of(subject) or Sampling()
    if family_of(subject) not in FAMILIES or looks_back(sampling) or sampling.bad_words:
        return False
    world = world_of(subject)
    return isinstance(world.target, MarkovModel) and isinstance(world.drafter, SmallModel)


def _tokens(tokens: Tokens, size: int, rng: np.random.Generator) -> Completions:
    """Completions of the empty prompt, looked at after each token."""
    before = np.column_stack([np.full(len(tokens), size), tokens[:, :-1]])
    ones = np.ones(tokens.size, dtype=np.intp)
    return Completions(
        context=before.ravel(),
        cell=tokens.ravel(),
        uniform=rng.random(tokens.size),
        lengths=ones,
        lost=0 * ones,
        groups=ones,
    )
