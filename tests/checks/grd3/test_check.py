"""GRD3 on decoders: every fault of the family, what is right, paths that were not taken, and odd servers."""

import msgspec
import pytest

from specaudit.checks.grd3.cases import CASES, STAGE
from specaudit.checks.grd3.paths import paths
from specaudit.model.completion import Response
from specaudit.model.finding import Verdict
from tests.checks.greedy.driven import audited, finding

GRD3 = {"GRD3": {"prompts": 20, "max_tokens": 20, "tolerance": 0.4}}


@pytest.fixture(scope="module")
def healthy():
    return audited("reference", GRD3)


def test_what_is_right_conforms_with_both_paths_taken(healthy):
    found = finding(healthy, "GRD3")
    assert found.verdict is Verdict.CONFORMS
    assert [view.name for view in found.views] == [case.name for case in CASES]
    assert found.coverage["stops inside an accepted block"] > 15
    assert found.coverage["caps where a block would have gone on"] > 0
    assert found.coverage["completions that came to EOS"] > 15


@pytest.mark.parametrize(
    ("mutant", "told"),
    [
        ("eos-only-last-checked", "behind the stop token"),
        ("stop-inside-block-kept", "behind the stop token"),
        ("min-tokens-ignored", "at least"),
        ("rejected-tokens-billed", "is billed"),
    ],
)
def test_faults_of_where_a_completion_ends_are_caught(mutant, told):
    found = finding(audited(f"mutant:{mutant}", GRD3, level="sampled"), "GRD3")
    assert found.verdict is Verdict.VIOLATES
    assert told in found.witness.what or told in found.summary


@pytest.mark.parametrize("subject", ["control:sampler-match", "control:async-scheduling"])
def test_controls_are_spared(subject):
    assert finding(audited(subject, GRD3), "GRD3").verdict is not Verdict.VIOLATES


def test_where_no_draft_is_accepted_no_stop_is_inside_a_block():
    found = finding(audited("reference", GRD3, world="markov4"), "GRD3")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no stop was seen to fall inside an accepted block" in found.summary


def test_without_counters_and_counts_the_paths_cannot_be_seen():
    evidence = audited("reference", GRD3, hidden={"counters": False}, spoil=without_speculation)
    found = finding(evidence, "GRD3")
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "cannot be seen without speculation counters" in found.summary


def without_speculation(planned, response):
    return msgspec.structs.replace(response, speculation=None)


def test_counters_alone_tell_of_at_least_some_stops(healthy):
    exact = paths(healthy, 1e-3)
    counted = paths(audited("reference", GRD3, spoil=without_speculation), 1e-3)
    assert 0 < counted.stops <= exact.stops
    assert counted.caps == exact.caps > 0


def test_counts_of_paths_are_lower_bounds(healthy):
    """What the decoder itself says of its steps is never less than what is told."""
    stage = healthy.stages[STAGE]
    inside = 0
    first = sum(map(len, stage.blocks[:2]))
    for slot, planned in enumerate(stage.slots()):
        if planned.arm == "subject" and slot >= first:
            response = healthy.response(STAGE, slot)
            completion = response.completions[0]
            inside += completion.finish_reason == "stop" and len(completion.tokens) > 1
    assert paths(healthy, 1e-3).stops <= inside + len(stage.blocks[0])


def test_what_an_arm_refuses_is_left_out_and_said():
    evidence = audited("reference", GRD3, hidden={"refused": ("min_tokens", "stop")})
    asked = [one.request for one in evidence.stages[STAGE].slots()]
    assert not any(request.min_tokens or request.stop for request in asked)
    found = finding(evidence, "GRD3")
    assert found.verdict is Verdict.CONFORMS
    assert "min_tokens: not asked, since the subject and the reference refuse it" in found.notes


def test_what_the_reference_ignores_is_no_fault_of_the_subject():
    def ignoring(planned, response):
        """A plain server that knows no stop_token_ids: its answer is the one without."""
        if planned.arm != "reference" or not planned.request.stop_token_ids:
            return response
        rows = tuple((one * 1) % 16 for one in range(planned.request.max_tokens))
        tokens = tuple((response.completions[0].tokens[0] + row) % 16 for row in rows)
        whole = msgspec.structs.replace(response.completions[0], tokens=tokens, finish_reason="length")
        return msgspec.structs.replace(response, completions=(whole,), completion_tokens=len(tokens))

    found = finding(audited("reference", GRD3, spoil=ignoring), "GRD3")
    assert found.verdict is Verdict.CONFORMS
    assert "stop token ids: not compared, since the reference itself does not heed it" in found.notes


def test_numeric_partings_before_the_end_are_not_its_affair():
    def parted(planned, response):
        if planned.arm != "subject" or planned.prompt_index % 10:
            return response
        one = response.completions[0]
        return msgspec.structs.replace(
            response, completions=(msgspec.structs.replace(one, tokens=((one.tokens[0] + 5) % 15, *one.tokens[1:])),)
        )

    found = finding(audited("reference", GRD3, spoil=parted), "GRD3")
    assert found.verdict is not Verdict.VIOLATES
    assert "which is for GRD1 to judge" in found.summary


def test_answers_without_choices_are_losses():
    spoil = lambda planned, response: Response(completions=()) if planned.prompt_index < 5 else response  # noqa: E731
    found = finding(audited("reference", GRD3, spoil=spoil), "GRD3")
    assert found.verdict is not Verdict.VIOLATES
    assert found.effect.high < 1
