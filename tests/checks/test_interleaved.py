"""Arms are asked side by side, in an order that is left to chance and follows from the plan's seed."""

import numpy as np
import pytest

from specaudit.checks.grd1 import PrefixEquality
from specaudit.checks.greedy.settings import GreedySettings
from specaudit.checks.interleaved import interleaved
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import PlanEntry, ProbeEntry
from specaudit.model.evidence import Evidence
from tests.audit.small import made_plan, planned


@pytest.mark.parametrize("group", [1, 2, 6])
def test_every_group_of_neighbours_is_shuffled_by_itself(group: int) -> None:
    requests = [planned(slot) for slot in range(60)]
    found = [one.request.seed for one in interleaved(np.random.default_rng(1), requests, group)]
    for start in range(0, 60, group):
        assert sorted(found[start : start + group]) == list(range(start, start + group))
    assert (found == list(range(60))) is (group == 1)


def test_greedy_completions_are_asked_of_both_arms_in_either_order() -> None:
    def first(seed: int) -> list[str]:
        plan = made_plan(checks=("GRD1",), seed=seed)
        found = Capabilities(engine="reference", tokens="ids", token_prompts=True, vocabulary_size=4, max_choices=8)
        probes = [ProbeEntry(role=role, capabilities=found) for role in ("subject", "reference")]
        evidence = Evidence([PlanEntry(plan=plan, digest=""), *probes])
        stage = PrefixEquality().next_stage(plan, GreedySettings(prompts=40, max_tokens=4, tolerance=0.5), evidence)
        assert stage is not None
        slots = [one for block in stage.blocks for one in block]
        assert sorted((one.prompt_index, one.arm) for one in slots) == [
            (index, arm) for index in range(40) for arm in ("reference", "subject")
        ]
        for block in stage.blocks:
            assert sorted(one.prompt_index for one in block if one.arm == "subject") == sorted(
                one.prompt_index for one in block if one.arm == "reference"
            )
        return [one.arm for one in slots]

    assert first(0) == first(0)
    assert first(0) != first(1)
    alternating = [["subject", "reference"] * 8, ["reference", "subject"] * 8]
    assert first(0)[:16] not in alternating
