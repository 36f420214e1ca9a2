import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.mutants import registry
from specaudit.mutants.rule import ResidualFromTarget

NAMES = ["bonus-in-numerator", "draft0-unverified", "resid-from-target", "reuse-uniform"]


def test_names_are_sorted_and_complete():
    assert registry.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_mutant_tells_its_story_and_builds(name):
    mutant = registry.get(name)
    assert mutant.name == name
    assert mutant.family in {"rule", "rng", "counters"}
    assert mutant.fault.endswith(".")
    assert "\n" not in mutant.fault + mutant.seen
    assert len(mutant.seen) > 10
    decoder = mutant.build(MARKOV4, draft_tokens=2, first_token="drafted")
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
    with pytest.raises(ValueError, match="two mutants are called 'resid-from-target'"):
        registry.register("resid-from-target", family="rule", fault=ResidualFromTarget, build=SpeculativeDecoder)
