"""The exact law of what plain decoding says, word by word, and how far a sample is off."""

import numpy as np

from specaudit.decoding.history import History
from specaudit.decoding.models.interface import BOS
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED
from specaudit.decoding.processors import Processors
from specaudit.decoding.rules import RuleTable
from specaudit.decoding.stopping import Stopping


def word_law(world, prompt, length, parameters=UNFILTERED, stop=TO_THE_END):
    """Law of the first `length` tokens behind a prompt.

    Returns:
        Words `[m, length]`, padded with −1 behind a stop, and their probabilities `[m]`, all positive.
    """
    table = RuleTable(world.vocabulary_size, eos=world.eos, texts=world.texts)
    rules = table.rules(np.array([table.number(parameters, stop)]))
    words, mass = np.zeros((1, 0), dtype=int), np.ones(1)
    grammar, string = rules.grammar, rules.string
    ended = []
    for _ in range(length):
        every = rules.take(np.zeros(len(words), dtype=int))
        laws = next_laws(world.target, prompt, words, every, grammar)
        row, token = np.nonzero(laws)
        words, mass = np.column_stack([words[row], token]), mass[row] * laws[row, token]
        every = rules.take(np.zeros(len(words), dtype=int))
        output_lengths = np.full(len(words), words.shape[1] - 1)
        trimmed = Stopping()(token[:, None], np.ones_like(token), every, output_lengths, string[row])
        grammar = grammar[row]
        if every.grammars is not None:
            grammar = every.grammars.step(grammar, token)
        going = ~trimmed.stopped
        padded = np.pad(words, ((0, 0), (0, length - words.shape[1])), constant_values=-1)
        ended.append((padded[~going], mass[~going]))
        words, mass, grammar, string = words[going], mass[going], grammar[going], trimmed.string[going]
        if not len(words):
            break
    else:
        ended.append((words, mass))
    return np.concatenate([one for one, _ in ended]), np.concatenate([one for _, one in ended])


def next_laws(target, prompt, words, rules, grammar):
    """Law of the token behind each word `[n, l] -> [n, V]`."""
    said = np.column_stack([np.broadcast_to(np.array(prompt, dtype=int), (len(words), len(prompt))), words])
    tokens = np.column_stack([np.full(len(said), BOS), said])
    count = np.full(len(said), tokens.shape[1])
    logits = target.forward(tokens, count, target.cache(len(said)), np.arange(len(said))).logits[:, -1:]
    history = History(
        tokens=np.pad(said, ((0, 0), (0, 1))),
        prompt_lengths=np.full(len(said), len(prompt)),
        lengths=np.full(len(said), said.shape[1]),
        drafts=np.zeros((len(said), 0), dtype=int),
        before=np.zeros((1, 0), dtype=bool),
        grammar=grammar,
    )
    return Processors()(logits, rules, history)[:, 0]


def misfit(tokens, law):
    """Chi-square per degree of freedom, total variation, and share of impossible words, of words `[N, length]`."""
    words, mass = law
    base = tokens.max(initial=0) + words.max(initial=0) + 2
    places = base ** np.arange(words.shape[1])
    known, seen = (words + 1) @ places, (tokens + 1) @ places
    order = np.argsort(known)
    place = np.searchsorted(known, seen, sorter=order).clip(max=len(known) - 1)
    found = known[order[place]] == seen
    counts = np.bincount(order[place][found], minlength=len(known))
    expected = len(tokens) * mass
    outside = 1 - found.mean()
    variation = (abs(counts - expected).sum() / len(tokens) + outside) / 2
    # Rare words share a cell: each by itself they are nowhere near a chi-square.
    cell = np.where(expected < 5, 0, np.arange(1, len(mass) + 1))
    counts, expected = (np.bincount(cell, values, minlength=len(mass) + 1) for values in (counts, expected))
    filled = expected > 0
    statistic = ((counts - expected)[filled] ** 2 / expected[filled]).sum()
    return statistic / max(1, np.count_nonzero(filled) - 1), variation, outside
