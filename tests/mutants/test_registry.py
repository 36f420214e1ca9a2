import numpy as np
import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4, WORLDS
from specaudit.mutants import registry
from specaudit.mutants.rule import ResidualFromTarget

FAMILIES = {
    "rule": """accept-after-mismatch accept-leq-zero-coin accept-raw-p block-verify-wrong-residual draft0-unverified
        inverted-ratio lenience match-then-p no-bonus resample-next-row resid-abs resid-from-target
        uninitialised-parameters vocab-pad-leak""",
    "q-contract": "argmax-draft-soft-q declared-q-raw draft-temp-mismatch lookup-always-accept",
    "parameters": """bad-words-off-by-one filter-order-swapped greedy-sentinel-mismatch logit-bias-dropped
        penalties-dropped sampled-request-greedy target-unwarped""",
    "rng": "reuse-uniform seed-depends-on-batch seed-ignored shared-stream",
    "batch": "batch-row-permuted q-row-misaligned",
    "state": """kv-not-rolled-back kv-off-by-one late-kv mask-lower-triangular recurrent-no-rollback
        recurrent-stale-after-nodraft tree-sibling-leak""",
    "precision": "fp8-batch-scale fp8-q-declared-bf16",
    "stop": "eos-only-last-checked min-tokens-ignored stop-inside-block-kept",
    "report": "grammar-bonus-unmasked logprob-of-draft",
    "counters": """bonus-in-numerator count-past-stop last-step-uncounted nonprefix-accept-count padded-drafts-counted
        perpos-dp-overwrite rejected-tokens-billed replay-counted spec-silently-off synthetic-acceptance""",
}
CONTROLS = """adaptive-length async-scheduling block-verification draft-only-kv-overtrim fp8-draft fp8-target
    greedy-draft onehot-q-with-sampled-draft preemption sampler-match tree-drafting"""
NAMES = registry.names()


def test_names_are_sorted_and_complete():
    assert sorted(NAMES) == NAMES
    for family, names in FAMILIES.items():
        assert set(names.split()) <= {name for name in NAMES if registry.get(name).family == family}
    assert registry.controls() == sorted(registry.controls())
    assert set(CONTROLS.split()) <= set(registry.controls())
    assert not set(NAMES) & set(registry.controls())


@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_tells_its_story_and_builds(name):
    mutant = registry.get(name)
    assert mutant.name == name
    assert mutant.family in FAMILIES
    assert mutant.fault.endswith(".")
    assert "\n" not in mutant.fault + mutant.seen
    assert len(mutant.seen) > 10
    decoder = mutant.build(WORLDS[mutant.world], draft_tokens=2, first_token="drafted")
    assert isinstance(decoder, SpeculativeDecoder)
    assert (decoder.draft_tokens, decoder.first_token) == (2, "drafted")


def test_the_story_is_the_docstring():
    mutant = registry.get("resid-from-target")
    assert mutant.fault == "On a rejection, the replacement is drawn from the target's law instead of the residual."
    assert "EAGLE issue 329" in mutant.seen


def test_unknown_names_carry_the_nearest():
    with pytest.raises(registry.UnknownMutantError, match="did you mean resid-from-target") as caught:
        registry.get("resid-from-targt")
    assert isinstance(caught.value, KeyError)
    assert (caught.value.name, caught.value.nearest) == ("resid-from-targt", ["resid-from-target"])


def test_unknown_names_like_no_other_say_so():
    with pytest.raises(registry.UnknownMutantError, match=r"no mutant is called 'zzz'$"):
        registry.get("zzz")


def test_names_are_taken_once():
    registry.names()
    with pytest.raises(ValueError, match="two mutants or controls are called 'resid-from-target'"):
        registry.register("resid-from-target", family="rule", fault=ResidualFromTarget, build=SpeculativeDecoder)


@pytest.mark.parametrize("name", registry.controls())
def test_every_control_tells_its_story_and_builds(name):
    control = registry.get_control(name)
    assert (control.name, control.family, control.dose) == (name, "control", None)
    assert control.fault.endswith(".")
    assert len(control.seen) > 3
    assert isinstance(control.build(WORLDS[control.world], draft_tokens=2), SpeculativeDecoder)


def test_controls_are_no_mutants():
    with pytest.raises(registry.UnknownMutantError, match=r"no control is called .*; did you mean sampler-match"):
        registry.get_control("sampler-matc")
    with pytest.raises(registry.UnknownMutantError, match="no mutant is called 'sampler-match'"):
        registry.get("sampler-match")


def test_a_dose_is_named_behind_a_colon():
    plain, strong = registry.get("lenience"), registry.get("lenience:0.5")
    assert plain.dose == strong.dose
    assert plain.dose.low <= 0.5 < plain.dose.default <= plain.dose.high
    lenient = [one.build(MARKOV4, draft_tokens=3) for one in (plain, strong)]
    rates = []
    for decoder in lenient:
        decoder.generate(np.zeros((300, 1), int), np.arange(300), max_tokens=20)
        rates.append(decoder.counters.accepted / decoder.counters.draft_tokens)
    assert rates[0] < rates[1]


@pytest.mark.parametrize("dose", ["", "much", "nan", "-1", "1e9"])
def test_doses_out_of_range_are_refused(dose):
    with pytest.raises(ValueError, match=rf"the dose of lenience must be a number from .* to .*, got '{dose}'"):
        registry.get(f"lenience:{dose}")


def test_a_fault_that_is_there_or_not_takes_no_dose():
    with pytest.raises(ValueError, match=r"mutant resid-from-target takes no dose, got '0.5'"):
        registry.get("resid-from-target:0.5")
