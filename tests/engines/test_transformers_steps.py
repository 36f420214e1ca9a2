"""What a trace makes of passes and of what is emitted, and of the real ones where transformers is installed."""

import asyncio

import numpy as np
import pytest

from specaudit.engines.transformers import TransformersEngine
from specaudit.engines.transformers_steps import Trace
from specaudit.model.completion import Steps
from specaudit.model.request import Request, Sampling

PROMPT = (5, 6, 7)


def traced(*steps):
    """A trace of steps, each what its pass ran on and what it emitted."""
    trace = Trace(PROMPT)
    trace.put(np.array([PROMPT]))
    for ran, emitted in steps:
        if ran is not None:
            trace.forward(None, (), {"input_ids": np.array([ran])})
        trace.put(np.array(emitted))
    trace.end()
    return trace


def test_drafts_are_what_a_pass_runs_on_behind_what_is_known():
    trace = traced(([*PROMPT, 1, 2], [1, 9]), ([9], [4]), ([4, 3, 3], [8]), ([8, 1, 2, 3], [1, 2]))
    assert trace.emitted == [2, 1, 1, 2]
    # The last was cut: all that it emitted was drafted.
    assert trace.steps() == Steps(drafted=(2, 0, 2, 3), accepted=(1, 0, 0, 2), emitted=(2, 1, 1, 2), ragged=0, mixed=0)


def test_a_draft_that_is_right_by_chance_behind_a_wrong_one_was_not_accepted():
    assert traced(([*PROMPT, 1, 2, 3], [9, 2])).steps().accepted == (0,)


def test_passes_that_are_not_seen_are_not_guessed():
    trace = traced(([*PROMPT, 1, 2], [1, 9]), (None, [4]))
    assert trace.emitted == [2, 1]
    assert trace.steps() is None


def test_real_defaults_of_a_folder_do_not_decide(tmp_path):
    torch, package = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = package.LlamaConfig(
        vocab_size=6, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, eos_token_id=0
    )
    package.LlamaForCausalLM(config).save_pretrained(tmp_path)
    request = Request(prompt=(1, 2, 3), sampling=Sampling(), seed=1, max_tokens=24)
    plain = asyncio.run(TransformersEngine(tmp_path).complete(request))
    defaults = package.GenerationConfig(eos_token_id=0, no_repeat_ngram_size=1, suppress_tokens=[1, 2], num_beams=2)
    defaults.save_pretrained(tmp_path)
    assert asyncio.run(TransformersEngine(tmp_path).complete(request)) == plain


@pytest.mark.parametrize("drafting", ["assistant", "lookup"])
def test_real_steps_make_up_what_is_emitted(drafting, tmp_path):
    torch, package = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = package.LlamaConfig(
        vocab_size=6,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        eos_token_id=0,
    )
    package.LlamaForCausalLM(config).save_pretrained(tmp_path)
    engine = TransformersEngine(tmp_path, **({"draft": tmp_path} if drafting == "assistant" else {"lookup": True}))
    request = Request(prompt=(1, 2, 3, 1, 2, 3, 1), sampling=Sampling(), seed=1, n=2, max_tokens=24, ignore_eos=True)
    rejected = bonus = 0
    for completion in asyncio.run(engine.complete(request)).completions:
        told = completion.steps
        assert sum(told.emitted) == len(completion.tokens)
        last = len(told.emitted) - 1
        for i, (drafted, accepted, emitted) in enumerate(zip(told.drafted, told.accepted, told.emitted, strict=True)):
            assert accepted <= drafted <= 3
            assert emitted == accepted + 1 or (i == last and emitted == accepted)
            rejected += accepted < drafted
            bonus += 0 < drafted == accepted
    # An assistant that is the target has every draft accepted.
    assert rejected or drafting == "assistant"
    assert bonus
