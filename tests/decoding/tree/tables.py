"""A model whose next token depends on everything before it, as a list of tables says; and a tree step with it."""

import numpy as np

from specaudit.decoding.drafters.interface import Sequences
from specaudit.decoding.models.interface import Forward
from specaudit.decoding.models.markov import TokenCounts

from ..verify.cells import Prescribed, boxes


class Tables:
    """Laws `[V]`, `[V, V]`, … after BOS, of sequences that are read as one tree from BOS on."""

    def __init__(self, laws):
        self.laws = laws
        self.vocabulary_size = len(laws[0])

    def cache(self, slots, *, tokens=None):
        return TokenCounts(slots, tokens=tokens)

    def forward(self, tokens, count, cache, slots, *, visible, depth):
        assert (tokens[:, 0] == -1).all()
        logits = np.full((*tokens.shape, self.vocabulary_size), np.nan)
        for node in range(tokens.shape[1]):
            seen = np.flatnonzero(visible[node])
            way = seen[np.argsort(depth[seen])][1:]
            rows = np.flatnonzero(count > node)
            with np.errstate(divide="ignore"):
                logits[rows, node] = np.log(self.laws[len(way)][tuple(tokens[rows][:, way].T)])
        return Forward(logits=logits)


def softmax(logits, drafts):
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def empty_prompts(batch):
    return Sequences(slots=np.arange(batch), tokens=np.empty((batch, 0), dtype=int), lengths=np.zeros(batch, dtype=int))


def target_rows(laws, topology, tokens):
    """The target's laws behind each node of trees `[X, W]`, `[X, W + 1, V]`."""
    return np.stack(
        [
            laws[topology.depth[n]][tuple(tokens[:, way[way > 0] - 1].T)] + np.zeros((len(tokens), 1))
            for n, way in enumerate(topology.lineage[: tokens.shape[1] + 1])
        ],
        axis=1,
    )


def step(make_drafter, verifier, topology, q, p, num_draft=None):
    """What one step of trees may emit `[m, D + 1]`, padded with −1, and with what probability `[m]`.

    The drafter is driven over all its uniforms, and the verifier over all its coins for each tree that came of them.
    """
    width = len(topology) if num_draft is None else num_draft

    def draft(cases, uniforms):
        drafter = make_drafter(Tables(q), topology, len(cases))
        return drafter.draft(empty_prompts(len(cases)), np.full(len(cases), width), uniforms, softmax)

    def grow(cases, uniforms):
        drafts = draft(cases, uniforms)
        # Trees are told apart by the laws that they declare, too.
        return np.column_stack([drafts.tokens, np.round(drafts.q.reshape(len(cases), -1) * 1e9).astype(int)])

    _, weight, _, uniforms = boxes(grow, 1, width)
    drafts = draft(np.zeros(len(weight)), uniforms)
    p_rows = target_rows(p, topology, drafts.tokens)

    def judge(case, coins):
        arguments = drafts.tokens[case], drafts.q[case], p_rows[case], np.full(len(case), width)
        verified = verifier(topology)(*arguments, Prescribed(coins))
        # Equal tokens on different ways down are different outcomes.
        return np.column_stack([verified.out, verified.path])

    case, volume, outcome, _ = boxes(judge, len(weight), width + 1)
    return outcome[:, : topology.height + 1], weight[case] * volume
