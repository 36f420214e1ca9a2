"""The law that words ought to have: exact, scored from the reference's logprobs, or not known."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.memo import once
from specaudit.laws.contexts import Context, ContextLaws, NextLaw, ScoredLaws, exact_laws
from specaudit.laws.edge import Edge, told_law
from specaudit.laws.orders import order_of
from specaudit.laws.words import Word, word_law
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import TokenLogprobs
from specaudit.model.evidence import END, Draws, Evidence
from specaudit.model.request import Prompt, Sampling, Token
from specaudit.stats.histogram import count_words, decode

PILOT = "LAW1.pilot"
TREE = "LAW1.tree"
SAMPLE = "LAW1.sample"
TRUST = "LAW1.trust"
SCORE = "LAW1.score"

DOUBT = 0.05
"""p-value of the reference's own words or tokens up to which the law that its logprobs tell is not believed."""

_ASSUMED_DRAFTS = 3
"""Drafts per step where the engine does not tell; deployed engines draft 3 to 5."""

OTHER = "(other)"
"""Stands for every token that shares its class with others."""

UNFORESEEN = "(unforeseen)"
"""Stands for every token that the pilot did not see at a position."""


@dataclass(frozen=True, kw_only=True)
class KnownWords:
    """The law of the words that begin at one depth, one pmf per prompt."""

    level: str
    """`exact` or `scored`."""
    laws: tuple[dict[Word, float], ...]


@dataclass(frozen=True, kw_only=True)
class TokenClasses:
    """How words are told apart where no law is known: by the tokens that the pilot found frequent at each position.

    Where the pilot saw no more tokens at a position than there are classes, each is a class of its own; otherwise the
    most frequent ones are, and the rest share one. Tokens that the pilot never saw are a class of their own always:
    they are what a fault brings in. It is the law of the classes that is compared, and the finding says so.
    """

    alone: tuple[tuple[frozenset[Token], ...], ...]
    """Per prompt and position of the word: the tokens that are a class of their own."""
    seen: tuple[tuple[frozenset[Token], ...], ...]
    """Per prompt and position of the word: the tokens that the pilot saw."""
    cells: Counter[tuple[int, Word]]
    """The pilot's words in classes, by prompt."""

    @property
    def lossless(self) -> bool:
        """No two tokens that the pilot saw share a class."""
        return self.alone == self.seen

    @property
    def usual(self) -> tuple[Word, ...]:
        """The pilot's most frequent word of each prompt, in classes."""
        return tuple(
            max(
                (word for place, word in self.cells if place == prompt),
                key=lambda word: (self.cells[prompt, word], str(word)),
            )
            for prompt in range(len(self.alone))
        )

    @property
    def outside_usual(self) -> float:
        """Share of the pilot's words that are not the most frequent one of their prompt."""
        return 1 - sum(self.cells[prompt, word] for prompt, word in enumerate(self.usual)) / self.cells.total()

    def counts(self, prompt: int, words: Counter[Word]) -> Counter[Word]:
        """Return the counts of words in classes."""
        counted: Counter[Word] = Counter()
        for word, count in words.items():
            counted[self._cell(prompt, word)] += count
        return counted

    def _cell(self, prompt: int, word: Word) -> Word:
        places = zip(word, self.alone[prompt], self.seen[prompt], strict=True)
        return tuple(
            token if token in alone else OTHER if token in seen else UNFORESEEN for token, alone, seen in places
        )


def completion_length(settings: LawSettings, subject: Capabilities) -> int:
    """Return the tokens per completion: by default at least four steps of K drafts and the verifier's own token."""
    return settings.max_tokens or max(4 * (_drafts(subject) + 1), settings.word_length)


def word_depths(settings: LawSettings, subject: Capabilities) -> tuple[int, ...]:
    """Return the depths (from 0) at which words begin.

    The first token comes from prefill, undrafted. With K drafts the bonus row is token K+2, so a word of L tokens
    that begins at depth K+2-L is the first to reach it; later words see later steps.
    """
    drafts, length = _drafts(subject), settings.word_length
    last = completion_length(settings, subject) - length
    return tuple(sorted({min(depth, last) for depth in (0, max(0, drafts + 2 - length), 2 * (drafts + 1), last)}))


def prompt_contexts(evidence: Evidence) -> tuple[Context, ...]:
    """Return the contexts of the prompts of the pilot, or of the sample."""
    stages = [PILOT] if PILOT in evidence.stages else evidence.parts(SAMPLE)
    contexts: dict[int, Context] = {}
    for stage in stages:
        prompts: Iterable[tuple[int, Prompt]] = enumerate(evidence.stages[stage].prompts)
        if not evidence.stages[stage].prompts:
            prompts = ((planned.prompt_index, planned.request.prompt) for planned in evidence.stages[stage].slots())
        contexts |= {index: prompt_context(evidence, prompt) for index, prompt in prompts}
    return tuple(contexts[index] for index in sorted(contexts))


def prompt_context(evidence: Evidence, prompt: Prompt) -> Context:
    """Return the context that a prompt is: its token ids, or where no arm has told these, its text as one token."""
    told = evidence.prompt_tokens("reference", prompt) or evidence.prompt_tokens("subject", prompt)
    return (prompt,) if told is None and isinstance(prompt, str) else told or ()


def target_laws(settings: LawSettings, evidence: Evidence) -> ContextLaws:
    """Return what is known of the target's law: all of it in process, else what the tree and the pilot told."""
    if "reference" in evidence.laws:
        order = order_of(evidence.capabilities["reference"].engine)
        return exact_laws(evidence.laws["reference"], settings.sampling, order)
    return _told(evidence, settings.sampling, settings.rounding)[0]


def target_edges(settings: LawSettings, evidence: Evidence) -> Mapping[Context, Edge] | None:
    """Return what is in doubt about the laws that logprobs told; None where the law is exact."""
    return None if "reference" in evidence.laws else _told(evidence, settings.sampling, settings.rounding)[1]


@once
def _told(evidence: Evidence, sampling: Sampling, rounding: float) -> tuple[ScoredLaws, dict[Context, Edge]]:
    """Laws by context from logprobs of the reference: of the tree's first tokens, and of the pilot's own tokens.

    The pilot knows the contexts that it went through; what it knows was told before the first word was drawn that
    enters a test.
    """
    reference = evidence.capabilities["reference"]
    mode, order = reference.logprobs_mode, order_of(reference.engine)
    laws: dict[Context, NextLaw] = {}
    edges: dict[Context, Edge] = {}
    for context, position in _positions(evidence):
        told = None if context in laws else told_law(position, sampling, mode, order, rounding)
        if told is not None:
            laws[context], edges[context] = told.law, told.edge
    return ScoredLaws(laws), edges


def _positions(evidence: Evidence) -> Iterator[tuple[Context, TokenLogprobs]]:
    """Every context in which the reference told logprobs, with these."""
    for name in (*evidence.parts(TREE), *(stage for stage in (PILOT,) if stage in evidence.stages)):
        for _, planned, response in evidence.answered(name, "reference"):
            prompt = prompt_context(evidence, planned.request.prompt)
            for completion in response.completions if response is not None else ():
                told, tokens = completion.logprobs or (), completion.tokens or ()
                for depth, position in enumerate(told[: len(tokens)]):
                    yield (*prompt, *tokens[:depth]), position


def known_words(
    settings: LawSettings, evidence: Evidence, contexts: tuple[Context, ...], depth: int
) -> KnownWords | None:
    """Return the law of the words that begin at a depth, where the evidence tells it for every prompt."""
    laws = target_laws(settings, evidence)
    words = [word_law(laws, context, depth, settings.word_length) for context in contexts]
    found = tuple(law for law in words if law is not None)
    if not found or len(found) < settings.prompts:
        return None
    return KnownWords(level="exact" if "reference" in evidence.laws else "scored", laws=found)


def token_classes(settings: LawSettings, evidence: Evidence, depth: int) -> TokenClasses | None:
    """Return the classes that the pilot chooses for the words from a depth, or None where a prompt has no pilot."""
    draws = evidence.draws(PILOT).get("reference") if PILOT in evidence.stages else None
    if draws is None:
        return None
    words = [word_counts(settings, draws, depth, prompt) for prompt in range(settings.prompts)]
    if not all(words):
        return None
    counts = [[_token_counts(counted, i) for i in range(settings.word_length)] for counted in words]
    classes = TokenClasses(
        alone=tuple(tuple(_alone(tokens, settings.classes) for tokens in positions) for positions in counts),
        seen=tuple(tuple(frozenset(tokens) for tokens in positions) for positions in counts),
        cells=Counter(),
    )
    for prompt, counted in enumerate(words):
        for cell, count in classes.counts(prompt, counted).items():
            classes.cells[prompt, cell] += count
    return classes


def _alone(counts: Counter[Token], classes: int) -> frozenset[Token]:
    """The tokens of a position that are a class of their own."""
    most = len(counts) if len(counts) <= classes else classes - 1
    return frozenset(token for token, _ in counts.most_common(most))


def _token_counts(words: Counter[Word], position: int) -> Counter[Token]:
    """Count the tokens at one position of words; equal counts are ranked by token, so that ties are settled."""
    counts: Counter[Token] = Counter()
    for word in sorted(words, key=str):
        counts[word[position]] += words[word]
    return counts


def word_counts(settings: LawSettings, draws: Draws, depth: int, prompt: int) -> Counter[Word]:
    """Count the words of one prompt that begin at a depth; END stands where a completion had ended."""
    tokens = draws.tokens[np.flatnonzero(draws.prompt_index == prompt)]
    size, length = len(draws.vocabulary), settings.word_length
    counted = count_words(tokens, depth, length, size)
    return Counter(
        {
            tuple(END if token == END else draws.vocabulary[token] for token in decode(code, length, size)): int(count)
            for code, count in zip(counted.codes.tolist(), counted.counts, strict=True)
        }
    )


def _drafts(subject: Capabilities) -> int:
    return _ASSUMED_DRAFTS if subject.draft_tokens is None else subject.draft_tokens
