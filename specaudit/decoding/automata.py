"""Finite automata over tokens: grammars that the output must follow, and strings that end it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import IntArray

FREE = 0
"""The state of a row that no automaton watches."""


@dataclass(frozen=True, eq=False)
class Grammar:
    """An automaton that says which tokens may come next.

    Attributes:
        transition: state behind each token in each state `[S, V]`, −1 where the token is forbidden. It begins in 0.

    Raises:
        ValueError: `transition` is no such table.
    """

    transition: IntArray

    def __post_init__(self) -> None:
        table = self.transition
        if table.ndim != 2 or not table.size or not np.issubdtype(table.dtype, np.integer):
            raise ValueError(f"transition must be integers [S, V], got {table.dtype} {list(table.shape)}")
        if table.min() < -1 or table.max() >= len(table):
            raise ValueError(f"transition must lead to states 0 to {len(table) - 1}, or to -1; got {table.tolist()}")


def string_matcher(strings: Sequence[str], texts: Sequence[str]) -> IntArray:
    """Make the automaton that finds any of some strings in what tokens spell.

    A state is the longest end of the text that begins a string, as in Aho and Corasick, "Efficient string
    matching", CACM 1975.

    Args:
        strings: what is looked for, none empty.
        texts: what each token spells `[V]`.

    Returns:
        State behind each token in each state `[S, V]`, −1 where the token completes a string. It begins in 0.
    """
    heads = sorted({string[:end] for string in strings for end in range(len(string))}, key=len)
    state = {head: number for number, head in enumerate(heads)}

    def behind(head: str, text: str) -> int:
        for character in text:
            head += character
            if head.endswith(tuple(strings)):
                return -1
            while head not in state:
                head = head[1:]
        return state[head]

    return np.array([[behind(head, text) for text in texts] for head in heads])


class Automata:
    """The automata of all requests in one table, so that a batch takes a step by a look-up.

    Args:
        vocabulary_size: number of tokens `V`.

    Attributes:
        next: state behind each token in each state `[S, V]`, −1 where an automaton ends there.
    """

    def __init__(self, vocabulary_size: int) -> None:
        self.next = np.full((1, vocabulary_size), FREE)

    def add(self, transition: IntArray) -> int:
        """Add an automaton; return the state that it begins in.

        Raises:
            ValueError: it is over another vocabulary.
        """
        first, vocabulary = self.next.shape
        if transition.shape[1] != vocabulary:
            raise ValueError(f"a grammar over {transition.shape[1]} tokens cannot rule {vocabulary} tokens")
        self.next = np.vstack([self.next, np.where(transition < 0, -1, transition + first)])
        return first

    def step(self, states: IntArray, tokens: IntArray) -> IntArray:
        """Return the states behind tokens, of the same shape; free where an automaton ended."""
        behind = self.next[states, tokens]
        return np.where(behind < 0, FREE, behind)

    def run(self, states: IntArray, tokens: IntArray, count: IntArray) -> IntArray:
        """Return the states `[b]` behind the first `count` `[b]` of tokens `[b, n]`."""
        for i, column in enumerate(tokens.T):
            states = np.where(i < count, self.step(states, column), states)
        return states
