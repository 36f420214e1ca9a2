"""GRD1 on completions made by hand: divergences, gaps, ties, losses."""

from collections.abc import Sequence

import msgspec
import pytest

from specaudit.checks.grd1 import PrefixEquality
from specaudit.checks.greedy.settings import GreedySettings
from specaudit.checks.interface import Budget
from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.entries import AttemptEntry
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import PlannedRequest, Stage
from specaudit.model.request import GREEDY, Request
from specaudit.stats.intervals import proportion_upper
from tests.checks.chains import law_entry
from tests.model.builders import attempt, evidence, plan

CHECK = PrefixEquality()
BUDGET = Budget(alpha=1e-3, delta=1e-3, seed=0)
PROMPTS = 60
SETTINGS = GreedySettings(prompts=PROMPTS, max_tokens=3, tolerance=0.15, required=True)
PLAIN = (0, 1, 0)


def reported(tokens: Sequence[int], runner_up: float) -> tuple[TokenLogprobs, ...]:
    """Logprobs in which each token leads, and every other of four trails by `runner_up` nats."""
    return tuple(
        TokenLogprobs(
            token=token,
            logprob=-0.1,
            top=((token, -0.1), *((other, -0.1 - runner_up) for other in range(4) if other != token)),
        )
        for token in tokens
    )


def compared(
    subject: Sequence[Sequence[int] | None], *, runner_up: float | None = None, exact: bool = False
) -> Evidence:
    """Evidence of the subject's completions, one per prompt, beside a reference that always says PLAIN."""
    block, attempts = [], []
    for index, tokens in enumerate(subject):
        request = Request(prompt=(1,), sampling=GREEDY, seed=0, max_tokens=3)
        block += [PlannedRequest(arm=arm, prompt_index=index, request=request) for arm in ("subject", "reference")]
        if tokens is not None:
            answer = Response(completions=(Completion(tokens=tuple(tokens), finish_reason="length"),))
            attempts.append(attempt("GRD1", 2 * index, answer))
        logprobs = None if runner_up is None else reported(PLAIN, runner_up)
        plain = Completion(tokens=PLAIN, finish_reason="length", logprobs=logprobs)
        attempts.append(attempt("GRD1", 2 * index + 1, Response(completions=(plain,))))
    extra = [law_entry()] if exact else []
    return evidence(Stage(name="GRD1", blocks=(tuple(block),)), attempts, *extra, header=plan("GRD1"))


def judge(subject, settings=SETTINGS, **how):
    return CHECK.judge(settings, compared(subject, **how), BUDGET)


def test_equal_completions_bound_the_share_of_divergence():
    finding = judge([PLAIN] * PROMPTS)
    assert finding.effect is not None
    assert finding.effect.value == 0
    assert finding.effect.high == pytest.approx(1 - 1e-3 ** (1 / PROMPTS))
    assert finding.verdict is Verdict.INCONCLUSIVE  # there are no counters, so nothing shows that drafts were made
    assert "cannot be seen" in finding.summary


def test_a_clear_preference_that_is_not_followed_violates():
    finding = judge([PLAIN] * (PROMPTS - 1) + [(0, 2, 0)], runner_up=2.5)
    assert finding.verdict is Verdict.VIOLATES
    assert finding.witness is not None
    assert "token 2 in place of token 1 at position 1" in finding.witness.what
    assert finding.witness.observed == pytest.approx(-2.5)


@pytest.mark.parametrize("runner_up", [0.3, 2.0, None])
def test_a_soft_or_unknown_gap_is_left_open(runner_up):
    finding = judge([PLAIN] * (PROMPTS - 1) + [(0, 2, 0)], runner_up=runner_up)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert finding.measured["diverging prompts"] == 1


def test_an_exact_tie_counts_as_equal():
    finding = judge([PLAIN] * (PROMPTS - 1) + [(0, 2, 0)], runner_up=0.0)
    assert finding.measured["diverging prompts"] == 0
    assert finding.measured["exact ties"] == 1


def test_where_the_law_is_exact_there_is_no_numeric_noise():
    # After token 1 the chain prefers 0 over 1 by log(.55/.45) = .2 nats only.
    finding = judge([PLAIN] * (PROMPTS - 1) + [(1, 1, 0)], exact=True)
    assert finding.verdict is Verdict.VIOLATES


def test_an_early_end_is_a_divergence():
    finding = judge([PLAIN] * (PROMPTS - 1) + [(0,)], runner_up=3.0)
    assert finding.measured["diverging prompts"] == 1
    assert finding.witness is not None
    assert "the end in place of token 1 at position 1" in finding.witness.what


def test_lost_prompts_widen_the_bound():
    finding = judge([PLAIN] * (PROMPTS - 6) + [None] * 6)
    assert finding.effect is not None
    assert finding.effect.high == pytest.approx(proportion_upper(6, PROMPTS, 1e-3))  # as if they had diverged
    assert finding.measured["prompts lost"] == 6


def test_too_few_prompts_are_inconclusive():
    finding = judge([PLAIN] * 10, settings=GreedySettings(prompts=10, max_tokens=3, tolerance=0.15))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "too few" in finding.summary


def test_nothing_answered_is_inconclusive():
    assert judge([None] * 5).verdict is Verdict.INCONCLUSIVE


def test_without_a_reference_it_is_not_applicable():
    head = plan("GRD1", arms=plan().arms[:1])
    finding = CHECK.judge(SETTINGS, evidence(Stage(name="x", blocks=()), [], header=head), BUDGET)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert "--reference" in finding.next_step


def test_a_token_outside_the_reported_ones_is_no_tie():
    """A reference that reports one logprob per position tells nothing of any other token."""
    block = compared([(0, 2, 0)] * PROMPTS, runner_up=0.0)
    alone = Evidence([_only_the_first(entry) for entry in block.entries])
    finding = CHECK.judge(SETTINGS, alone, BUDGET)
    assert finding.measured["exact ties"] == 0
    assert finding.measured["diverging prompts"] == PROMPTS
    assert finding.verdict is Verdict.INCONCLUSIVE


def _only_the_first(entry):
    if not isinstance(entry, AttemptEntry) or entry.response.completions[0].logprobs is None:
        return entry
    completion = entry.response.completions[0]
    logprobs = tuple(msgspec.structs.replace(position, top=position.top[:1]) for position in completion.logprobs)
    completion = msgspec.structs.replace(completion, logprobs=logprobs)
    return msgspec.structs.replace(entry, response=Response(completions=(completion,)))
