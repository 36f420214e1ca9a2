import asyncio

import pytest

from specaudit.decoding.worlds import WORLDS
from specaudit.engines.interface import Access
from specaudit.engines.mutant import build
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import Request, Sampling
from specaudit.mutants.registry import controls, get, names


def mutant(name, draft_tokens=3):
    return build(Arm(role="subject", engine=f"mutant:{name}", draft_tokens=draft_tokens), Access())


def tokens(subject):
    request = Request(prompt=(0,), sampling=Sampling(), seed=5, n=200, max_tokens=6)
    return [completion.tokens for completion in asyncio.run(subject.complete(request)).completions]


@pytest.mark.parametrize("name", names())
def test_every_mutant_answers(name):
    subject = mutant(name)
    assert isinstance(subject, ReferenceEngine)
    assert type(subject.decoder) is type(get(name).build(WORLDS[get(name).world], draft_tokens=3))
    assert {len(word) for word in tokens(subject)} == {6}
    assert asyncio.run(subject.probe()).capabilities.draft_tokens == 3


def test_the_fault_is_in_what_it_emits():
    honest = build_reference()
    assert tokens(mutant("resid-from-target")) != tokens(honest)


def build_reference():
    from specaudit.engines.reference import build as build_honest

    return build_honest(Arm(role="reference", engine="reference", draft_tokens=3), Access())


def test_without_drafts_the_fault_has_no_place():
    honest = build_reference()
    honest.decoder.draft_tokens = 0
    assert tokens(mutant("resid-from-target", draft_tokens=None)) == tokens(honest)


@pytest.mark.parametrize("engine", ["mutant:resid-from-targe", "mutant:", "mutant"])
def test_an_unknown_one_is_refused(engine):
    with pytest.raises(UsageError, match="no mutant is called") as caught:
        build(Arm(role="subject", engine=engine), Access())
    assert caught.value.hint == "specaudit list mutants"


def test_the_nearest_is_named():
    with pytest.raises(UsageError, match=r"did you mean .*resid-from-target"):
        mutant("resid-from-targe")


def test_a_dose_goes_to_the_decoder():
    weak, strong = mutant("synthetic-acceptance:0"), mutant("synthetic-acceptance:1")
    tokens(weak)
    tokens(strong)
    assert weak.decoder.counters.accepted == 0
    assert strong.decoder.counters.accepted == strong.decoder.counters.draft_tokens > 0


@pytest.mark.parametrize(
    ("engine", "said", "hint"),
    [
        ("mutant:lenience:9", "the dose of lenience must be a number from", "specaudit list mutants"),
        ("mutant:resid-abs:1", "takes no dose", "specaudit list mutants"),
        (
            "control:sampler-mtch",
            "no control is called 'sampler-mtch'; did you mean sampler-match",
            "specaudit list controls",
        ),
    ],
)
def test_what_is_wrong_is_said(engine, said, hint):
    with pytest.raises(UsageError, match=said) as caught:
        build(Arm(role="subject", engine=engine), Access())
    assert caught.value.hint == hint


@pytest.mark.parametrize("name", controls())
def test_every_control_answers(name):
    subject = build(Arm(role="subject", engine=f"control:{name}", draft_tokens=3), Access())
    assert {len(word) for word in tokens(subject)} == {6}
