"""The checks of an endpoint that has no other to be held against: SED1, LAW2, LAW4 and CTR4."""

from itertools import count

import msgspec
import pytest

from specaudit.checks.ctr4 import Billing, BillingSettings
from specaudit.checks.interface import budget_of
from specaudit.checks.law2 import Support, SupportSettings
from specaudit.checks.law4 import Independence, IndependenceSettings
from specaudit.checks.sed1 import SameSeed, SeedSettings
from specaudit.model.finding import Verdict
from tests.checks.drive import drive, engine

CHECKS = {
    "SED1": (SameSeed(), SeedSettings()),
    "LAW2": (Support(), SupportSettings()),
    "LAW4": (Independence(), IndependenceSettings()),
    "CTR4": (Billing(), BillingSettings()),
}


def finding(check_id, subject=None, **changes):
    check, settings = CHECKS[check_id]
    evidence = drive(check, settings, subject or engine(), **changes)
    return check.judge(settings, evidence, budget_of(evidence.plan, check_id))


@pytest.mark.parametrize("draft_tokens", [0, 3])
@pytest.mark.parametrize("check_id", CHECKS)
def test_a_healthy_decoder_conforms(check_id, draft_tokens):
    found = finding(check_id, engine(draft_tokens=draft_tokens))
    assert found.verdict is Verdict.CONFORMS, found.summary
    assert found.effect is not None
    assert found.effect.high < found.effect.tolerance


def shifted(response, by=1):
    first = response.completions[0]
    return msgspec.structs.replace(
        response,
        completions=(
            msgspec.structs.replace(first, tokens=tuple((token + by) % 4 for token in first.tokens)),
            *response.completions[1:],
        ),
    )


@pytest.mark.parametrize("check_id", ["SED1", "LAW2"])
@pytest.mark.parametrize(("every", "verdict"), [(2, Verdict.VIOLATES), (24, Verdict.INCONCLUSIVE)])
def test_answers_that_change_are_counted(check_id, every, verdict):
    """Half of the pairs are no accident; a few may be numeric noise."""
    number = count()

    def spoil(planned, response):
        at = next(number)
        return shifted(response) if at >= 64 and at % every == 0 else response

    found = finding(check_id, spoil=spoil)
    assert found.verdict is verdict
    assert found.witness is not None
    assert "from token 1" in found.witness.what


@pytest.mark.parametrize(
    ("check_id", "hidden", "reason"),
    [
        ("SED1", {"refused": ("seed",)}, "refuses requests with a seed"),
        ("SED1", {"repeats": "always"}, "from a cache"),
        ("LAW2", {"refused": ("top_k",)}, "refuses top_k"),
        ("LAW2", {"temperature": "default"}, "temperature"),
        ("LAW4", {"tokens": "none", "subject_tokens": "none"}, "reveals no single tokens"),
        ("CTR4", {"tokens": "none", "subject_tokens": "none"}, "does not reveal its own tokens"),
    ],
)
def test_what_cannot_be_asked_is_not_applicable_and_says_why(check_id, hidden, reason):
    found = finding(check_id, **hidden)
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert reason in found.summary


@pytest.mark.parametrize("check_id", CHECKS)
def test_without_answers_nothing_is_said(check_id):
    found = finding(check_id, spoil=lambda planned, response: None)
    assert found.verdict in (Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE)
    assert found.effect is None


def test_a_cache_that_repeats_answers_is_found():
    cache = {}
    found = finding("LAW4", spoil=lambda planned, response: cache.setdefault(planned.prompt_index, response))
    assert found.verdict is Verdict.VIOLATES
    assert "copies of each other" in found.summary


def test_choices_that_are_copies_are_found():
    def spoil(planned, response):
        return msgspec.structs.replace(response, completions=response.completions[:1] * len(response.completions))

    found = finding("LAW4", spoil=spoil)
    assert found.verdict is Verdict.VIOLATES
    assert found.summary == "Choices of one request are copies of each other."


@pytest.mark.parametrize(("more", "verdict"), [(3, Verdict.VIOLATES), (-3, Verdict.INCONCLUSIVE)])
def test_bills_for_other_than_what_arrived_are_told(more, verdict):
    def spoil(planned, response):
        return msgspec.structs.replace(response, completion_tokens=response.completion_tokens + more)

    found = finding("CTR4", spoil=spoil)
    assert found.verdict is verdict
    assert found.witness is not None
    assert found.witness.observed == found.witness.expected + more


def test_a_token_that_ends_an_answer_may_be_billed_and_hidden_reasoning_must_be_itemised():
    def ended(planned, response):
        first = msgspec.structs.replace(response.completions[0], finish_reason="stop")
        return msgspec.structs.replace(
            response,
            completions=(first,),
            completion_tokens=response.completion_tokens + 11,
            reasoning_tokens=10,
        )

    assert finding("CTR4", spoil=ended).verdict is Verdict.CONFORMS


def test_without_bills_nothing_is_to_be_checked():
    def spoil(planned, response):
        return msgspec.structs.replace(response, completion_tokens=None)

    assert finding("CTR4", spoil=spoil).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("check_id", "mutant"),
    [
        ("SED1", "seed-ignored"),
        ("LAW2", "resample-next-row"),
        ("LAW2", "inverted-ratio"),
        ("CTR4", "rejected-tokens-billed"),
    ],
)
def test_mutants_violate(check_id, mutant):
    found = finding(check_id, engine(mutant))
    assert found.verdict is Verdict.VIOLATES, found.summary
