"""What of a request an audit has under control, and what an endpoint decides by itself.

Gateways refuse parameters, ignore them, or answer from a cache. Each is found by probing; here it becomes what a check
can still ask, what it cannot say any more, and a sentence for the report.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Response
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Role
from specaudit.model.request import Sampling

_DOES = {
    "one": "takes no temperature but 1",
    "default": "refuses temperatures",
    "ignored": "ignores temperatures",
}

_DO = {
    "one": "take no temperature but 1",
    "default": "refuse temperatures",
    "ignored": "ignore temperatures",
}

_HARMLESS = (
    "return_token_ids",
    "return_tokens_as_token_ids",
    "stream_options",
    "seed",
    "temperature",
    "stop_token_ids",
    "stop",
    "min_tokens",
    "grammar",
)
"""Fields whose refusal leaves the law alone, or is told in a sentence of its own by the check that wants them."""


def reachable(sampling: Sampling, evidence: Evidence) -> Sampling:
    """Return parameters that every arm takes: what one of them refuses becomes neutral.

    So a server without top_k is still audited, with a law over the whole vocabulary.
    """
    neutral = Sampling()
    refused = {name for found in evidence.capabilities.values() for name in found.refused}
    if any(found.temperature != "any" for found in evidence.capabilities.values()):
        refused.add("temperature")
    left_out = {name: getattr(neutral, name) for name in neutral.__struct_fields__ if name in refused}
    return msgspec.structs.replace(sampling, **left_out)


def law_is_told(evidence: Evidence) -> bool:
    """True if the law that logprobs tell can be that of the draws: of all tokens, at a temperature that is known."""
    return evidence.plan.segment == "all" and all(map(_is_settable, evidence.capabilities.values()))


def no_greedy_decoding(evidence: Evidence) -> str:
    """Say why temperature 0 is out of reach; nothing where it can be asked for."""
    stubborn: dict[str, list[Role]] = {}
    for role, found in evidence.capabilities.items():
        if found.temperature != "any":
            stubborn.setdefault(found.temperature, []).append(role)
    told = " and ".join(
        f"{_the(roles)} {_DOES[how] if len(roles) == 1 else _DO[how]}" for how, roles in stubborn.items()
    )
    return f"Greedy decoding cannot be asked for: {told}." if told else ""


def no_seeds(evidence: Evidence) -> str:
    """Say why it cannot be asked what a seed does to the subject; nothing where it can."""
    subject = evidence.capabilities.get("subject")
    if subject is not None and "seed" in subject.refused:
        return "The subject refuses requests with a seed."
    if subject is not None and subject.repeats == "always":
        return "The subject answers from a cache, which repeats itself in any case."
    return ""


def no_common_law(evidence: Evidence) -> str:
    """Say why the arms cannot be asked for draws from one law; nothing where they can."""
    settable = [role for role, found in evidence.capabilities.items() if _is_settable(found)]
    other = next((role for role in evidence.capabilities if role not in settable), None)
    if not settable or other is None:
        return ""
    return (
        f"The temperature of the {other} is its own, and that of the {settable[0]} would have to be guessed: the two "
        "cannot be asked for the same law."
    )


def only_characters(evidence: Evidence) -> str:
    """Say that characters stand for tokens, so that what verifying emits may lie behind them; nothing where not.

    As many characters are judged as tokens were asked for: in a model's own text, those of its first few tokens.
    """
    if any(found.tokens == "retokenized" and found.tokenizer is None for found in evidence.capabilities.values()):
        return (
            "only text is told, and the characters that can be compared may all come from the first few tokens, before "
            "drafts were verified"
        )
    return ""


def only_copies(evidence: Evidence) -> str:
    """Say that an arm answers every seed alike, so that there are no draws; nothing where there are."""
    for role, found in evidence.capabilities.items():
        if found.repeats == "always":
            return (
                f"The {role} gives requests that differ in their seed one and the same answer, as a cache does: there "
                "are no independent draws."
            )
    return ""


def cached_answers(evidence: Evidence, stages: Iterable[str]) -> str:
    """Say how many answers of some stages tell themselves that they come from a cache; nothing where none does."""
    for role in evidence.capabilities:
        answered = [found for stage in stages for _, _, found in evidence.answered(stage, role) if found is not None]
        signs = list(filter(None, map(_sign_of_a_cache, answered)))
        if signs:
            return (
                f"{len(signs)} of {len(answered)} answers of the {role} come from a cache, as they say themselves "
                f"({signs[0]}): they are no independent draws."
            )
    return ""


def _sign_of_a_cache(response: Response) -> str:
    """What shows that an answer was not generated: its headers, or that not even the prompt's last token was computed.

    Engines that keep the KV cache of a prompt compute its last token anew, since the first answer is drawn from it.
    """
    if response.cache is not None and "hit" in response.cache.lower():
        return response.cache
    cached = response.cached_tokens or 0
    return f"all {cached} tokens of the prompt were cached" if 0 < (response.prompt_tokens or 0) <= cached else ""


def not_under_control(evidence: Evidence) -> tuple[str, ...]:
    """Return a sentence fragment for each thing that an endpoint decides by itself, the same in all arms only once."""
    found: dict[str, list[Role]] = {}
    for role, capabilities in evidence.capabilities.items():
        for what in (*_told(capabilities), *_reasoning(evidence, role)):
            found.setdefault(what, []).append(role)
    return tuple(f"{_the(roles)}: {what}" for what, roles in found.items())


def _the(roles: Sequence[Role]) -> str:
    return " and ".join(f"the {role}" for role in roles)


def _is_settable(found: Capabilities) -> bool:
    return found.temperature in ("any", "one")


def _reasoning(evidence: Evidence, role: Role) -> Iterator[str]:
    """Reasoning tokens that were billed, beside those that could be read."""
    kind = evidence.capabilities[role].reasoning
    if evidence.plan.segment != "all":
        yield f"only the {evidence.plan.segment} segment of completions is judged"
    if kind == "none":
        return
    responses = [
        response
        for stage in evidence.stages
        for _, _, response in evidence.answered(stage, role)
        if response is not None and response.reasoning_tokens is not None
    ]
    billed = sum(response.completion_tokens or 0 for response in responses)
    reasoning = sum(response.reasoning_tokens or 0 for response in responses)
    if kind == "hidden":
        yield f"{reasoning:,} of {billed:,} billed tokens are reasoning that is not shown; nothing is said of its law"
    elif reasoning and evidence.plan.segment == "all":
        yield f"{reasoning:,} of {billed:,} billed tokens are reasoning, judged as the first tokens of each completion"


def _told(found: Capabilities) -> Iterator[str]:
    if found.temperature in ("default", "ignored"):
        does = _DOES[found.temperature]
        yield f"the temperature is the one parameter not under control: it {does}, so its own holds"
    elif found.temperature == "one":
        yield f"it {_DOES[found.temperature]}, so that is what was asked for"
    if "seed" in found.refused:
        yield "seeds are refused, so no answer can be asked for again"
    if left := [name for name in found.refused if name not in _HARMLESS]:
        yield f"{', '.join(left)} cannot be sent, so the server's own values hold"
    if found.repeats == "bypassed":
        yield "a cache answers requests again; each request named a user of its own to get past it"
    if found.repeats == "always":
        yield "answers are repeated whatever the seed, as from a cache that nothing gets past"
    if found.tokens == "retokenized":
        yield (
            "tokens are those of the given tokenizer, since only text is told"
            if found.tokenizer is not None
            else "only text is told, and its characters stand for tokens: what differs in longer pieces only stays "
            "unseen; --tokenizer divides it as the model does"
        )
