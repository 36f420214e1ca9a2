"""The law of words of L tokens that start at a depth of a completion, from laws of single tokens."""

from specaudit.laws.contexts import Context, ContextLaws, Key, NextLaw

Word = tuple[int | str, ...]


def word_law(laws: ContextLaws, prompt: Context, depth: int, length: int) -> dict[Word, float] | None:
    """Return the probability of every possible word of `length` tokens that starts at token `depth` (from 0).

    The law is the marginal one: over everything that may be emitted before the word. Contexts that the law does
    not tell apart are merged, so that a chain of low order costs little at any depth. Returns None where the law
    of some context on the way is not known.
    """
    contexts: dict[Key, float] = {laws.start(prompt): 1.0}
    for _ in range(depth):
        advanced: dict[Key, float] = {}
        for context, mass in contexts.items():
            law = laws.next_law(context)
            if law is None:
                return None
            for token, probability in law.items():
                key = laws.after(context, token)
                advanced[key] = advanced.get(key, 0.0) + mass * probability
        contexts = advanced
    words: dict[Word, float] = {}
    for context, mass in contexts.items():
        if not _spell(laws, context, (), mass, length, words):
            return None
    return words


def _spell(laws: ContextLaws, context: Key, word: Word, mass: float, left: int, words: dict[Word, float]) -> bool:
    """Add to `words` all that follows a context; False where a law is missing."""
    if left == 0:
        words[word] = words.get(word, 0.0) + mass
        return True
    law: NextLaw | None = laws.next_law(context)
    return law is not None and all(
        _spell(laws, laws.after(context, token), (*word, token), mass * probability, left - 1, words)
        for token, probability in law.items()
    )


def unknown_contexts(laws: ContextLaws, prompt: Context, tokens: int) -> list[Context]:
    """Return the nearest contexts whose law must still be asked for to know completions of `tokens` tokens.

    All returned contexts have the same number of tokens; an empty list means that all laws are known.
    """
    contexts = [laws.start(prompt)]
    for _ in range(tokens):
        missing = [context for context in contexts if laws.next_law(context) is None]
        if missing:
            return missing
        contexts = list(
            dict.fromkeys(laws.after(context, token) for context in contexts for token in laws.next_law(context) or ())
        )
    return []
