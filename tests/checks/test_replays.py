"""The reference's numerics, measured where one context is scored more than once, enter bets and bounds."""

from math import exp, log

import msgspec
import numpy as np
import pytest

from specaudit.checks.interface import budget_of
from specaudit.checks.law1 import forced
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law3 import scores
from specaudit.checks.law3.check import LawByDepth
from specaudit.checks.law3.settings import DepthSettings
from specaudit.checks.replays import spread
from specaudit.checks.scoring import Place, Scorable
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response, TokenLogprobs
from specaudit.model.finding import Verdict
from specaudit.model.request import Sampling
from specaudit.stats.evalues.slack import hidden_tv
from tests.checks.drive import drive, engine

REFERENCE = Capabilities(engine="openai", tokens="ids", logprobs=2, logprobs_mode="raw", vocabulary_size=2)
WARM = Sampling(temperature=0.5)


def position(p: float) -> TokenLogprobs:
    return TokenLogprobs(token=0, logprob=log(p), top=((0, log(p)), (1, log(1 - p))))


def scored(*told: float, tokens: tuple[int, ...] = (0, 1)) -> tuple[Scorable, Response]:
    place = Place(prompt=(7,), tokens=tokens, depth=None)
    return Scorable(places=(place,)), Response(completions=(), scores=tuple(map(position, told)))


def spread_of(*every: tuple[Scorable, Response]) -> float:
    return spread(WARM, REFERENCE, [([one for one, _ in every], [answer for _, answer in every])])


def test_it_is_measured_on_processed_probabilities_in_equal_contexts() -> None:
    def processed(p: float) -> float:
        return p**2 / (p**2 + (1 - p) ** 2)

    apart = abs(log((1 - processed(0.6)) / (1 - processed(0.62))))
    assert spread_of(scored(0.6, 0.5), scored(0.62, 0.5)) == pytest.approx(apart)
    assert apart > log(0.4 / 0.38)  # of the raw ones


def test_other_contexts_are_no_replays() -> None:
    assert spread_of(scored(0.6, 0.5, tokens=(0, 1)), scored(0.6, 0.9, tokens=(1, 1))) == 0.0
    assert spread_of(scored(0.6, 0.5)) == 0.0


def jittered(nats: float):
    """Scorings that differ from request to request, as those of a server in bfloat16 do."""

    def spoil(planned, response):
        if response.scores is None:
            return response
        rng = np.random.default_rng(planned.request.seed)
        return msgspec.structs.replace(response, scores=tuple(moved(one, rng) for one in response.scores))

    def moved(one, rng):
        raw = np.array([logprob for _, logprob in one.top]) + rng.uniform(-nats, nats, len(one.top))
        told = raw - log(sum(map(exp, raw)))
        top = tuple((token, float(logprob)) for (token, _), logprob in zip(one.top, told, strict=True))
        return msgspec.structs.replace(one, top=top, logprob=dict(top)[one.token])

    return spoil


CHECKS = [
    (LawByDepth(), DepthSettings(tolerance=0.12, max_tokens=40, least_completions=16, choices=8)),
    (EmittedLaw(), LawSettings(tolerance=0.2, bound="completions", word_length=2, pilot=64, choices=8)),
]


def noise_of(check, settings, evidence):
    return scores.noise(evidence, settings, "forced") if check.id == "LAW3" else forced.noise(evidence, settings)


@pytest.mark.parametrize(("check", "settings"), CHECKS, ids=["LAW3", "LAW1"])
def test_what_numerics_hide_is_neither_bet_on_nor_bounded(check, settings):
    def judged(**how):
        evidence = drive(check, settings, engine(), **how)
        return check.judge(settings, evidence, budget_of(evidence.plan, check.id)), noise_of(check, settings, evidence)

    steady, nothing = judged()
    noisy, noise = judged(spoil=jittered(0.08))
    assert nothing == 0.0
    assert not [note for note in steady.notes if "two scorings" in note]
    assert 0.08 < noise < 0.4
    assert noisy.verdict is not Verdict.VIOLATES
    assert any(f"differ by up to {noise:.2g} nats" in note for note in noisy.notes)
    assert noisy.effect.high >= noisy.effect.value + hidden_tv(noise)


def test_a_fault_beyond_the_numerics_is_shown_all_the_same():
    check, settings = CHECKS[0]
    evidence = drive(check, settings, engine("resid-from-target"), spoil=jittered(0.02))
    finding = check.judge(settings, evidence, budget_of(evidence.plan, check.id))
    assert finding.verdict is Verdict.VIOLATES
    assert any("two scorings" in note for note in finding.notes)


def test_the_plan_sets_aside_what_numerics_will_hide():
    check, settings = CHECKS[1]
    settings = msgspec.structs.replace(settings, rounding=0.05, tolerance=0.1, success=0.99)
    steady, noisy = (drive(check, settings, engine(), spoil=spoil) for spoil in (lambda p, r: r, jittered(0.01)))
    hidden = forced.hidden_by_plan(noisy, settings)
    assert forced.hidden_by_plan(steady, settings) == forced.hidden_at_edges(steady, settings)
    assert hidden - forced.hidden_at_edges(noisy, settings) >= 2 * hidden_tv(forced.noise(noisy, settings)) > 0
    planned = [sum(one.stages[name].size for name in one.parts("LAW1.sample")) for one in (steady, noisy)]
    assert planned[0] < planned[1]
    finding = check.judge(settings, noisy, budget_of(noisy.plan, check.id))
    assert finding.verdict is Verdict.CONFORMS, finding.summary


def test_numerics_that_no_sample_could_make_up_for_are_not_planned_for():
    check, settings = CHECKS[1]
    evidence = drive(check, settings, engine(), spoil=jittered(0.2))
    assert forced.hidden_by_plan(evidence, settings) == forced.hidden_at_edges(evidence, settings)
