"""The noise floor: what plain decoding does to itself, and what it does to GRD1's verdict."""

import msgspec
import pytest

from specaudit.model.completion import Response
from specaudit.model.finding import Verdict
from tests.checks.greedy.driven import TRAFFIC, audited, finding

FEW = {"prompts": 32, "max_tokens": 6, "tolerance": 0.3}
BOTH = {"GRD1": FEW, "GRD2": FEW}
WIDE = "read at once"


@pytest.fixture(scope="module")
def noisy():
    """Near ties flip with the width of the batch, in plain decoding too."""
    checks = {name: {"prompts": 24, "max_tokens": 10, "tolerance": 0.6} for name in ("GRD1", "GRD2")}
    return audited("control:batch-width-ties", checks, level="scored", traffic=TRAFFIC)


def test_flips_at_near_ties_between_batch_widths_are_spared(noisy):
    found = finding(noisy, "GRD1")
    assert found.verdict is Verdict.CONFORMS
    assert found.effect.name.endswith("beyond plain decoding's own")
    assert found.measured["hard divergences"] == found.measured["beside traffic: hard divergences"] == 0
    assert "up to numeric ties" in found.summary or "exact ties" in found.summary


def test_the_floor_counts_flips_by_margin_in_every_circumstance(noisy):
    found = finding(noisy, "GRD2")
    assert found.verdict is Verdict.CONFORMS
    assert [view.name for view in found.views] == ["8 in flight", "1 in flight", WIDE]
    assert sum(view.statistic.value for view in found.views) > 0
    gaps = [value for name, value in found.measured.items() if "largest gap" in name]
    assert gaps
    assert max(gaps) < 0.2
    assert all(value == 0 for name, value in found.measured.items() if "0.3 to 1 nats" in name)


def test_plain_decoding_without_noise_agrees_with_itself():
    evidence = audited("reference", {"GRD2": FEW}, level="scored")
    found = finding(evidence, "GRD2")
    assert found.verdict is Verdict.CONFORMS
    assert "on none of 32 prompts (8 in flight, 1 in flight, read at once)" in found.summary
    assert evidence.stages["GRD2.other"].concurrency == 1


def test_without_prompt_scores_there_is_no_floor_at_the_verifiers_width():
    evidence = audited("reference", {"GRD2": FEW}, level="scored", hidden={"scores_prompts": False})
    found = finding(evidence, "GRD2")
    assert "GRD2.wide" not in evidence.stages
    assert any("no floor at a verifier's width" in note for note in found.notes)


def other_tokens(which):
    """Spoil the answers to some prompts: all their tokens are the next number's."""

    def spoil(planned, response):
        if not which(planned):
            return response
        rows = [
            msgspec.structs.replace(one, tokens=tuple((token + 3) % 16 for token in one.tokens))
            for one in response.completions
        ]
        return msgspec.structs.replace(response, completions=tuple(rows))

    return spoil


def test_a_reference_that_mixes_models_is_no_target():
    """Every third replay comes from another model behind the same address."""
    spoil = other_tokens(lambda planned: planned.arm == "replay" and planned.prompt_index % 3 == 0)
    evidence = audited("reference", BOTH, level="scored", spoil=spoil)
    found = finding(evidence, "GRD2")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "not one target" in found.summary


def test_who_is_held_against_no_target_is_not_accused():
    mixed = other_tokens(lambda planned: planned.arm in ("reference", "replay") and planned.request.seed % 3 == 0)
    found = finding(audited("reference", BOTH, level="scored", spoil=mixed), "GRD1")
    assert found.measured["hard divergences"] > 0
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "contradicts itself" in found.summary


def test_a_subject_that_mixes_models_is():
    spoil = other_tokens(lambda planned: planned.arm == "subject" and planned.prompt_index % 3 == 0)
    found = finding(audited("reference", BOTH, level="scored", spoil=spoil), "GRD1")
    assert found.verdict is Verdict.VIOLATES


def test_fewer_choices_than_asked_for_are_losses():
    spoil = lambda planned, response: Response(completions=()) if planned.prompt_index < 4 else response  # noqa: E731
    evidence = audited("reference", BOTH, spoil=spoil)
    assert finding(evidence, "GRD1").measured["prompts lost"] == 4
    assert finding(evidence, "GRD2").verdict is not Verdict.VIOLATES


@pytest.mark.parametrize("check", ["GRD1", "GRD2", "GRD3"])
def test_tokens_that_are_not_told_make_it_not_applicable(check):
    evidence = audited("reference", {check: {}}, level="scored", hidden={"tokens": "none"})
    assert not evidence.stages
    assert finding(evidence, check).verdict is Verdict.NOT_APPLICABLE


def test_stripped_tokens_are_losses_and_no_traceback():
    def strip(planned, response):
        rows = [msgspec.structs.replace(one, tokens=None) for one in response.completions]
        return msgspec.structs.replace(response, completions=tuple(rows)) if planned.arm == "subject" else response

    evidence = audited("reference", {**BOTH, "GRD3": {"prompts": 16}}, spoil=strip)
    assert finding(evidence, "GRD1").verdict is Verdict.INCONCLUSIVE
    assert finding(evidence, "GRD3").verdict is Verdict.INCONCLUSIVE
