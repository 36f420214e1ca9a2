"""What the requests of a batch ask for: each distinct set of rules once, then row by row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from specaudit.decoding.arrays import BoolArray, FloatArray, IntArray
from specaudit.decoding.automata import FREE, Automata, string_matcher
from specaudit.decoding.parameters import SamplingParameters, StopRules


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Sampling parameters and stop rules as columns; the entries are distinct sets, or the rows of a batch.

    Attributes:
        number: number of the set `[n]`.
        temperature: `[n]`, 0 for greedy decoding.
        top_k: number of tokens kept `[n]`, 0 for all.
        top_p: mass of the nucleus `[n]`.
        min_p: share of the likeliest token's probability `[n]`.
        repetition: repetition penalty `[n]`.
        presence: presence penalty `[n]`.
        frequency: frequency penalty `[n]`.
        min_tokens: tokens before any stop `[n]`.
        stops: which tokens end a completion, EOS included `[n, V]`.
        bias: what is added to the logits `[n, V]`; None where no set has a bias.
        forbidden: tokens that no set of allowed ones holds `[n, V]`; None where every set allows all.
        bad_words: (number of a set, a word it forbids).
        grammar: state that the row's grammar begins in `[n]`.
        string: state that the search for the row's stop strings begins in `[n]`.
        grammars: the grammars of all sets; None where there are none.
        strings: the stop strings of all sets; None where there are none.
        constrained: whether any set names single tokens.
    """

    number: IntArray
    temperature: FloatArray
    top_k: IntArray
    top_p: FloatArray
    min_p: FloatArray
    repetition: FloatArray
    presence: FloatArray
    frequency: FloatArray
    min_tokens: IntArray
    stops: BoolArray
    bias: FloatArray | None
    forbidden: BoolArray | None
    bad_words: tuple[tuple[int, tuple[int, ...]], ...]
    grammar: IntArray
    string: IntArray
    grammars: Automata | None
    strings: Automata | None
    constrained: bool

    @property
    def greedy(self) -> BoolArray:
        """Whether tokens are not drawn but the likeliest taken `[n]`."""
        return np.asarray(self.temperature == 0)

    @property
    def penalised(self) -> BoolArray:
        """Whether a penalty is on `[n]`."""
        return np.asarray((self.repetition != 1) | (self.presence != 0) | (self.frequency != 0))

    def take(self, index: IntArray) -> "Rules":
        """Select entries, each as often as it is named."""
        return Rules(
            number=self.number[index],
            temperature=self.temperature[index],
            top_k=self.top_k[index],
            top_p=self.top_p[index],
            min_p=self.min_p[index],
            repetition=self.repetition[index],
            presence=self.presence[index],
            frequency=self.frequency[index],
            min_tokens=self.min_tokens[index],
            stops=self.stops[index],
            bias=None if self.bias is None else self.bias[index],
            forbidden=None if self.forbidden is None else self.forbidden[index],
            bad_words=self.bad_words,
            grammar=self.grammar[index],
            string=self.string[index],
            grammars=self.grammars,
            strings=self.strings,
            constrained=self.constrained,
        )


class RuleTable:
    """The distinct sets of rules that a decoder has been asked for.

    Args:
        vocabulary_size: number of tokens `V`.
        eos: token that ends a completion; None if there is none.
        texts: what each token spells `[V]`; None where tokens have no text.
    """

    def __init__(self, vocabulary_size: int, *, eos: int | None = None, texts: Sequence[str] | None = None) -> None:
        self._size = vocabulary_size
        self._eos = eos
        self._texts = texts
        self._grammars = Automata(vocabulary_size)
        self._strings = Automata(vocabulary_size)
        self._numbers: dict[tuple[SamplingParameters, StopRules], int] = {}
        self._starts: list[tuple[int, int]] = []
        self._rules: Rules | None = None

    def number(self, parameters: SamplingParameters, stop: StopRules) -> int:
        """Return the number of a set of rules, a new one where the set is new.

        Raises:
            ValueError: a token is none of the vocabulary's, a grammar is over another vocabulary, or strings
                are to be found among tokens that have no text.
        """
        key = parameters, stop
        if key not in self._numbers:
            self._check(parameters, stop)
            grammar = FREE if parameters.grammar is None else self._grammars.add(parameters.grammar.transition)
            string = self._strings.add(string_matcher(stop.strings, self._texts or ())) if stop.strings else FREE
            self._starts.append((grammar, string))
            self._numbers[key] = len(self._numbers)
            self._rules = None
        return self._numbers[key]

    def rules(self, numbers: IntArray) -> Rules:
        """Return the rules of a batch, given the number of each row's set `[b]`."""
        if self._rules is None:
            self._rules = self._columns()
        return self._rules.take(numbers)

    def _check(self, parameters: SamplingParameters, stop: StopRules) -> None:
        named = {
            "stop token": stop.token_ids,
            "biased token": tuple(token for token, _ in parameters.logit_bias),
            "token of a bad word": tuple(token for word in parameters.bad_words for token in word),
            "allowed token": parameters.allowed_token_ids or (),
        }
        for what, tokens in named.items():
            for token in tokens:
                if not 0 <= token < self._size:
                    raise ValueError(f"{what} {token} is not one of {self._size} tokens")
        if stop.strings and self._texts is None:
            raise ValueError("stop strings need tokens that have a text; stop at token ids instead")

    def _columns(self) -> Rules:
        """Write all sets as columns, an entry per set."""
        sets = [parameters for parameters, _ in self._numbers]
        stops = [stop for _, stop in self._numbers]
        grammar, string = np.array(self._starts, dtype=np.int64).reshape(-1, 2).T
        return Rules(
            number=np.arange(len(sets)),
            temperature=np.array([one.temperature for one in sets], dtype=np.float64),
            top_k=np.array([one.top_k for one in sets], dtype=np.int64),
            top_p=np.array([one.top_p for one in sets], dtype=np.float64),
            min_p=np.array([one.min_p for one in sets], dtype=np.float64),
            repetition=np.array([one.repetition_penalty for one in sets], dtype=np.float64),
            presence=np.array([one.presence_penalty for one in sets], dtype=np.float64),
            frequency=np.array([one.frequency_penalty for one in sets], dtype=np.float64),
            min_tokens=np.array([stop.min_tokens for stop in stops], dtype=np.int64),
            stops=self._stops(stops),
            bias=self._bias(sets) if any(one.logit_bias for one in sets) else None,
            forbidden=self._forbidden(sets) if any(one.allowed_token_ids for one in sets) else None,
            bad_words=tuple((number, word) for number, one in enumerate(sets) for word in one.bad_words),
            grammar=grammar,
            string=string,
            grammars=self._grammars if grammar.any() else None,
            strings=self._strings if string.any() else None,
            constrained=any(one.constrained for one in sets) or any(stop.min_tokens for stop in stops),
        )

    def _stops(self, rules: Sequence[StopRules]) -> BoolArray:
        stops = np.zeros((len(rules), self._size), dtype=np.bool_)
        for row, one in zip(stops, rules, strict=True):
            row[list(one.token_ids)] = True
            if self._eos is not None and not one.ignore_eos:
                row[self._eos] = True
        return stops

    def _bias(self, sets: Sequence[SamplingParameters]) -> FloatArray:
        bias = np.zeros((len(sets), self._size))
        for row, one in zip(bias, sets, strict=True):
            for token, value in one.logit_bias:
                row[token] += value
        return bias

    def _forbidden(self, sets: Sequence[SamplingParameters]) -> BoolArray:
        forbidden = np.zeros((len(sets), self._size), dtype=np.bool_)
        for row, one in zip(forbidden, sets, strict=True):
            if one.allowed_token_ids is not None:
                row[:] = True
                row[list(one.allowed_token_ids)] = False
        return forbidden
