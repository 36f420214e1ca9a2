"""What becomes of each request parameter, found by settings that leave no doubt: one token, or another text, or an end.

First tokens are never drafted, so that what is seen of filters and biases there is the server's sampler alone. What a
verifier does to parameters is what the LAW checks are for.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from specaudit.doctor.patient import Asked, Patient
from specaudit.engines.behaviour import OPEN_PROMPT
from specaudit.model.checkup import Parameter, Treatment
from specaudit.model.request import Request, Sampling

HOT = 2.0
"""A temperature at which first tokens differ, unless a filter leaves one."""

LETTERS, GRAMMAR = "[ab]+", "[ab]{100}"
"""What hardly any text is made of by itself, and a regular expression that demands it, too long to come to its end:
behind that, where the end of a sequence is ignored, vLLM goes on without it."""

_SEEDS = tuple(7_000_003 * number for number in range(1, 7))
_LONG, _FEW = 32, 8

_TO_ONE = {"top_k": Sampling(temperature=HOT, top_k=1), "top_p": Sampling(temperature=HOT, top_p=1e-6)}
_TO_ONE["min_p"] = Sampling(temperature=HOT, min_p=1.0)
"""Filters, set so that one token is left."""

_TO_OTHERS = {
    "repetition_penalty": Sampling(temperature=0.0, repetition_penalty=1.9),
    "frequency_penalty": Sampling(temperature=0.0, frequency_penalty=2.0),
    "presence_penalty": Sampling(temperature=0.0, presence_penalty=2.0),
}
"""Penalties, set so high that a greedy text which repeats itself becomes another."""


@dataclass(frozen=True, kw_only=True)
class _Greedy:
    """The greedy text that others are held against."""

    said: object
    tokens: tuple[int, ...]
    """Its ids; empty where they are not told."""
    steady: bool
    """It came twice."""

    @property
    def repeats(self) -> int:
        """How often its most frequent token stands in it."""
        return max(map(self.tokens.count, self.tokens), default=0)


async def examine_parameters(patient: Patient) -> tuple[Parameter, ...]:
    """Ask for each parameter by itself."""
    greedy = await _greedy(patient)
    hot = await _firsts(patient, Sampling(temperature=HOT), "first token, hot")
    found = [await _seed(patient)]
    found += [await _to_one(patient, name, sampling, hot) for name, sampling in _TO_ONE.items()]
    found += [await _to_others(patient, name, sampling, greedy) for name, sampling in _TO_OTHERS.items()]
    found += [await test(patient, greedy) for test in (_logit_bias, _allowed, _bad_words, _stop, _stop_tokens)]
    found.append(await _min_tokens(patient, greedy, found[-1]))
    found.append(await _choices(patient))
    found.append(await _grammar(patient))
    found.append(await _unknown(patient))
    return tuple(found)


def _request(sampling: Sampling, *, seed: int = 1, max_tokens: int = 1) -> Request:
    return Request(prompt=OPEN_PROMPT, sampling=sampling, seed=seed, max_tokens=max_tokens)


async def _greedy(patient: Patient) -> _Greedy:
    request = _request(Sampling(temperature=0.0), max_tokens=_LONG)
    answers = [await patient.ask(request, "greedy text") for _ in range(2)]
    first = answers[0].completion
    tokens = first.tokens if first is not None and first.tokens is not None else ()
    ids = tuple(token for token in tokens if isinstance(token, int))
    same = answers[0].said is not None and answers[0].said == answers[1].said
    return _Greedy(said=answers[0].said, tokens=ids if len(ids) == len(tokens) else (), steady=same)


async def _firsts(patient: Patient, sampling: Sampling, what: str) -> list[Asked]:
    """First tokens with different seeds, until one is refused."""
    answers: list[Asked] = []
    for seed in _SEEDS:
        answers.append(await patient.ask(_request(sampling, seed=seed), f"{what}, seed {seed}"))
        if answers[-1].response is None:
            break
    return answers


async def _seed(patient: Patient) -> Parameter:
    request = _request(Sampling(), seed=_SEEDS[0], max_tokens=_LONG)
    one, two = [await patient.ask(request, "the same seed") for _ in range(2)]
    other = await patient.ask(msgspec.structs.replace(request, seed=_SEEDS[1]), "another seed")
    if unanswered := _unanswered(patient, "seed", one):
        return unanswered
    if one.said is None or one.said == other.said:
        return _parameter("seed", "unclear", f"two seeds gave one text of {_LONG} tokens")
    same = one.said == two.said
    return _parameter(
        "seed",
        "honoured" if same else "ignored",
        f"the same seed gave {'the same text' if same else 'two texts'}, another seed another one",
    )


async def _to_one(patient: Patient, name: str, sampling: Sampling, hot: list[Asked]) -> Parameter:
    answers = await _firsts(patient, sampling, f"first token, {name} leaves one")
    if unanswered := _unanswered(patient, name, answers[-1]):
        return unanswered
    before, left = (len({one.said for one in some if one.said is not None}) for some in (hot, answers))
    seen = f"{before} different first tokens of {len(hot)} without, {left} with {getattr(sampling, name):g}"
    if before < 2:
        return _parameter(name, "unclear", seen)
    return _parameter(name, "honoured" if left == 1 else "ignored", seen)


async def _to_others(patient: Patient, name: str, sampling: Sampling, greedy: _Greedy) -> Parameter:
    asked = await patient.ask(_request(sampling, max_tokens=_LONG), name)
    if unanswered := _unanswered(patient, name, asked):
        return unanswered
    if not greedy.steady:
        return _parameter(name, "unclear", "greedy texts differ by themselves, asked twice")
    if asked.said != greedy.said:
        return _parameter(name, "honoured", f"with {getattr(sampling, name):g} the greedy text became another")
    seen = f"with {getattr(sampling, name):g} the greedy text stayed as it was"
    # Only the frequency penalty grows with every repetition until it must show; the others may be too weak.
    must_show = greedy.repeats >= 4 and name == "frequency_penalty"
    return _parameter(name, "ignored" if must_show else "unclear", seen)


async def _logit_bias(patient: Patient, greedy: _Greedy) -> Parameter:
    return await _forced(patient, greedy, "logit_bias", lambda token: Sampling(logit_bias=((token, 100.0),)))


async def _allowed(patient: Patient, greedy: _Greedy) -> Parameter:
    return await _forced(patient, greedy, "allowed_token_ids", lambda token: Sampling(allowed_token_ids=(token,)))


async def _forced(patient: Patient, greedy: _Greedy, name: str, sampling: Callable[[int], Sampling]) -> Parameter:
    """Force a token that would not have come first."""
    other = next((token for token in greedy.tokens if token != greedy.tokens[0]), None)
    if other is None:
        return _parameter(name, "unclear", "no two token ids are known")
    asked = await patient.ask(_request(msgspec.structs.replace(sampling(other), temperature=0.0)), name)
    if unanswered := _unanswered(patient, name, asked):
        return unanswered
    forced = asked.said == (other,)
    return _parameter(name, "honoured" if forced else "ignored", f"token {other} was to come first, and {_did(forced)}")


async def _bad_words(patient: Patient, greedy: _Greedy) -> Parameter:
    first = await patient.ask(_request(Sampling(temperature=0.0)), "first greedy token")
    word = first.completion.text if first.completion is not None else None
    if not word:
        return _parameter("bad_words", "unclear", "the text of the first greedy token is not known")
    asked = await patient.ask(_request(Sampling(temperature=0.0, bad_words=((word,),))), "bad_words")
    if unanswered := _unanswered(patient, "bad_words", asked):
        return unanswered
    kept_out = asked.said != first.said
    return _parameter(
        "bad_words", "honoured" if kept_out else "ignored", f"{word!r} was to stay out, and {_did(kept_out)}"
    )


async def _stop(patient: Patient, greedy: _Greedy) -> Parameter:
    whole = await patient.ask(_request(Sampling(temperature=0.0), max_tokens=_LONG), "greedy text")
    text = (whole.completion.text or "") if whole.completion is not None else ""
    word = text[len(text) // 2 : len(text) // 2 + 2]
    if not word.strip() or not greedy.steady:
        return _parameter("stop", "unclear", "no greedy text is known, or it is not steady")
    request = msgspec.structs.replace(_request(Sampling(temperature=0.0), max_tokens=_LONG), stop=(word,))
    asked = await patient.ask(request, "stop")
    if unanswered := _unanswered(patient, "stop", asked):
        return unanswered
    ended = asked.completion is not None and len(asked.completion.text or "") < len(text)
    return _parameter("stop", "honoured" if ended else "ignored", f"{word!r} was to end the text, and {_did(ended)}")


async def _stop_tokens(patient: Patient, greedy: _Greedy) -> Parameter:
    if not greedy.tokens or not greedy.steady:
        return _parameter("stop_token_ids", "unclear", "no token ids are known, or greedy texts differ by themselves")
    last = greedy.tokens[0]
    request = _request(Sampling(temperature=0.0), max_tokens=_LONG)
    asked = await patient.ask(msgspec.structs.replace(request, stop_token_ids=(last,)), "stop_token_ids")
    if unanswered := _unanswered(patient, "stop_token_ids", asked):
        return unanswered
    ended = asked.completion is not None and len(asked.completion.tokens or ()) < len(greedy.tokens)
    seen = f"token {last} was to end the text, and {_did(ended)}"
    return _parameter("stop_token_ids", "honoured" if ended else "ignored", seen)


async def _min_tokens(patient: Patient, greedy: _Greedy, stops: Parameter) -> Parameter:
    """Keep a stop that would come first from ending the text."""
    if stops.treatment != "honoured":
        return _parameter("min_tokens", "unclear", "no stop token ids that it could hold off are honoured")
    last, least = greedy.tokens[0], _LONG // 2
    request = _request(Sampling(temperature=0.0), max_tokens=_LONG)
    asked = await patient.ask(msgspec.structs.replace(request, stop_token_ids=(last,), min_tokens=least), "min_tokens")
    if unanswered := _unanswered(patient, "min_tokens", asked):
        return unanswered
    held = asked.completion is not None and len(asked.completion.tokens or ()) >= least
    seen = f"token {last} was not to end the text before {least} tokens, and {'did not' if held else 'did'}"
    return _parameter("min_tokens", "honoured" if held else "ignored", seen)


async def _choices(patient: Patient) -> Parameter:
    """Two choices: are they two draws, and is the second the one that seed + 1 gives alone?"""
    request = _request(Sampling(), seed=_SEEDS[0], max_tokens=_LONG)
    asked = await patient.ask(msgspec.structs.replace(request, n=2), "two choices")
    if unanswered := _unanswered(patient, "n", asked):
        return unanswered
    choices = asked.response.completions if asked.response is not None else ()
    if len(choices) != 2:
        return _parameter("n", "ignored", f"{len(choices)} of 2 choices came")
    first, second = (one.tokens or one.text for one in choices)
    if first == second:
        return _parameter("n", "unclear", "2 choices came and say the same, as copies would")
    alone = await patient.ask(msgspec.structs.replace(request, seed=request.seed + 1), "the seed of the second choice")
    how = "is" if alone.said == second else "is not"
    return _parameter("n", "honoured", f"2 choices came; the second {how} what the seed + 1 gives alone")


async def _grammar(patient: Patient) -> Parameter:
    asked = await patient.ask(
        _request(Sampling(temperature=0.0, grammar=GRAMMAR), max_tokens=_FEW), f"a grammar, {GRAMMAR}"
    )
    if unanswered := _unanswered(patient, "grammar", asked):
        return unanswered
    plain = await patient.ask(_request(Sampling(temperature=0.0), max_tokens=_FEW), "greedy text")
    texts = [(one.completion.text or "") if one.completion is not None else "" for one in (asked, plain)]
    follows, before = (re.fullmatch(LETTERS, text) is not None for text in texts)
    if not all(texts) or before:
        return _parameter("grammar", "unclear", "no text is told, or it follows the grammar by itself")
    seen = f"the text was to follow {GRAMMAR}, and {_did(follows)}"
    return _parameter("grammar", "honoured" if follows else "ignored", seen)


async def _unknown(patient: Patient) -> Parameter:
    request = _request(Sampling())
    asked = await patient.ask(request, "a field that nobody knows", {"specaudit_unknown_field": 1})
    name = "(a field that nobody knows)"
    return _unanswered(patient, name, asked) or _parameter(
        name, "ignored", "it was answered: typing errors go unnoticed"
    )


def _unanswered(patient: Patient, name: str, asked: Asked) -> Parameter | None:
    if asked.response is not None:
        return None
    refused = asked.refused or name in patient.found.refused
    how: Treatment = "refused" if refused else "unclear" if asked.offered else "not offered"
    return _parameter(name, how, asked.refusal)


def _did(happened: bool) -> str:
    return "did" if happened else "did not"


def _parameter(name: str, treatment: Treatment, seen: str) -> Parameter:
    return Parameter(name=name, treatment=treatment, seen=seen)


Test = Callable[[Patient, _Greedy], Awaitable[Parameter]]
"""What finds out about one parameter."""
