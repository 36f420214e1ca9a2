"""Audits in process: what is hidden at each level, and that nothing but the requests decides."""

import msgspec
import pytest

from specaudit.calibrate.drive import HIDDEN, drive, tokens_of
from specaudit.checks import registry
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.suite import Suite
from tests.model.builders import plan

SETTINGS = {"GRD1": {"prompts": 4, "max_tokens": 8}, "CTR1": {"windows": 3, "requests": 2, "choices": 4}}


def driven(check_id, *, level="exact", concurrency=8, spoil=None, **settings):
    suite = Suite(name="test", title="", checks={check_id: {**SETTINGS.get(check_id, {}), **settings}})
    header = plan(check_id, suite=suite, metrics="in process", concurrency=concurrency)
    engines = {
        "subject": ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=3)),
        "reference": ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=0)),
    }
    return drive(
        registry.get(check_id),
        registry.settings_of(suite, check_id),
        header,
        engines,
        reveal=level == "exact",
        hidden=dict.fromkeys(engines, HIDDEN[level]),
        **({"spoil": spoil} if spoil else {}),
    )


@pytest.mark.parametrize(
    ("level", "logprobs", "tokens"), [("exact", 4, "ids"), ("scored", 4, "ids"), ("sampled", 0, "ids")]
)
def test_each_level_reveals_less(level, logprobs, tokens):
    evidence = driven("GRD1", level=level)
    assert ("reference" in evidence.laws) == (level == "exact")
    for found in evidence.capabilities.values():
        assert (found.logprobs, found.tokens) == (logprobs, tokens)


def test_at_the_level_of_text_prompts_are_text_and_tokens_those_of_a_tokenizer():
    evidence = driven("GRD1", level="text")
    assert evidence.capabilities["subject"].tokens == "retokenized"
    assert all(isinstance(planned.request.prompt, str) for _, planned, _ in evidence.answered("GRD1", "subject"))


def test_only_the_subject_has_counters_and_they_are_read_around_every_block():
    evidence = driven("CTR1")
    assert {role: found.counters for role, found in evidence.capabilities.items()} == {
        "subject": True,
        "reference": False,
    }
    assert sorted(evidence.snapshots("CTR.windows")) == [0, 1, 2, 3]
    assert "spec_decode" in evidence.snapshots("CTR.windows")[3].page


def test_requests_run_side_by_side_and_answers_do_not_depend_on_it():
    alone, together = driven("GRD1", concurrency=1), driven("GRD1", concurrency=8)
    for role in ("subject", "reference"):
        first, second = (
            [(slot, response) for slot, _, response in one.answered("GRD1", role)] for one in (alone, together)
        )
        assert first == second
    assert tokens_of(alone, ["GRD1"]) == 4 * 8


def test_what_is_spoilt_is_what_comes_back():
    def lost(planned, response):
        return None if planned.arm == "subject" else msgspec.structs.replace(response, completion_tokens=7)

    evidence = driven("GRD1", spoil=lost)
    assert all(response is None for _, _, response in evidence.answered("GRD1", "subject"))
    assert {response.completion_tokens for _, _, response in evidence.answered("GRD1", "reference")} == {7}
