"""Prompt lookup on a code-rename request: accepted tokens by step, of the decoder and of a loop written plainly."""

from dataclasses import replace

import pytest

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.drafters.makers import Lookup
from specaudit.decoding.lexemes import RENAME_PROMPT, RENAMED, encode
from specaudit.decoding.parameters import SamplingParameters, StopRules
from specaudit.decoding.trace import Trace, trace
from specaudit.decoding.worlds import WORLDS

DRAFTS, MOST_COMPARED, CAP = 5, 3, 60


def traced(match: int) -> Trace:
    world = WORLDS["code"]
    lookup = Lookup(vocabulary_size=world.vocabulary_size, min_match=match, max_match=MOST_COMPARED)
    decoder = SpeculativeDecoder(replace(world, drafter=lookup, topology=None), draft_tokens=DRAFTS)
    prompt = encode(RENAME_PROMPT, world.texts or ())
    return trace(decoder, prompt, 0, max_tokens=CAP, parameters=SamplingParameters(temperature=0), stop=StopRules())


def accepted_by_hand(prompt: list[int], output: list[int], match: int) -> list[int]:
    """The longest match counts, of equal ones the first; what followed it is drafted, and kept while it is right."""
    text, done, counts = list(prompt), 0, []
    while done < len(output):
        drafts: list[int] = []
        if done:  # the first token comes from prefill
            for length in range(MOST_COMPARED, match - 1, -1):
                ends = [i for i in range(length, len(text)) if text[i - length : i] == text[-length:]]
                if ends:
                    drafts = text[ends[0] : ends[0] + min(DRAFTS, CAP - done - 1)]
                    break
        right = 0
        while right < len(drafts) and done + right < len(output) and drafts[right] == output[done + right]:
            right += 1
        counts.append(right)
        step = output[done : done + right + 1]
        text += step
        done += len(step)
    return counts


@pytest.mark.parametrize("match", [1, 2, 3])
def test_accepted_tokens_step_by_step(match: int) -> None:
    found = traced(match)
    assert found.tokens == encode(RENAMED, WORLDS["code"].texts or ())
    counts = [sum(draft.verdict == "accepted" for draft in step.drafts) for step in found.steps]
    assert counts == accepted_by_hand(list(found.prompt), list(found.tokens), match)


def test_longer_matches_are_more_often_right_and_rarer() -> None:
    traces = [traced(match) for match in (1, 2, 3)]
    steps = [len(found.steps) for found in traces]
    drafted = [sum(len(step.drafts) for step in found.steps) for found in traces]
    right = [sum(draft.verdict == "accepted" for step in found.steps for draft in step.drafts) for found in traces]
    assert steps == sorted(steps)
    assert right == sorted(right, reverse=True)
    assert right[1] / drafted[1] > right[0] / drafted[0]
