"""The formula for the tokens of a step against the reference decoder, which drafts and verifies for real."""

import numpy as np
import pytest

from specaudit.claims.tokens import chain_tokens, chain_tokens_without_bonus
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.worlds import SmallModel, World


def world_of(acceptance: float) -> World:
    """A world without memory, in which every draft is accepted with the same probability: Σ min(p, q)."""
    p, q = [0.5, 0.5], [1.5 - acceptance, acceptance - 0.5]
    target, draft = (MarkovModel(start=law, transition=[law, law]) for law in (p, q))
    return World(name="flat", target=target, drafter=SmallModel(model=draft))


@pytest.mark.parametrize(("acceptance", "drafts", "expected"), [(0.8, 4, 3.3616), (0.7, 3, 2.5330)])
def test_tokens_of_a_step(acceptance: float, drafts: int, expected: float) -> None:
    loop = SpeculativeDecoder(world_of(acceptance), draft_tokens=drafts).start(1200)
    loop.add(np.zeros((1200, 1), dtype=np.int64), np.arange(1200), max_tokens=120)
    emitted = []
    while loop.running or loop.waiting:
        executed = loop.step()
        if executed is not None:
            emitted.append(executed.trimmed.emitted[executed.drafts.count == drafts])
    tokens = np.concatenate(emitted)
    tolerance = 3.3 * tokens.std() / len(tokens) ** 0.5  # one run in a thousand is further off
    assert tolerance < 0.03
    assert tokens.mean() == pytest.approx(expected, abs=tolerance)
    assert float(chain_tokens(acceptance, drafts)) == pytest.approx(expected, abs=5e-5)
    no_bonus = np.minimum(tokens, drafts).mean()
    assert no_bonus == pytest.approx(float(chain_tokens_without_bonus(acceptance, drafts)), abs=tolerance)
