"""What GRD3 asks: each way in which a completion can end, at places that the plain completions offer.

- `GRD3.plain`: the reference's completions, which say where a stop can be put.
- `GRD3`: a block for each case, asked of both arms; of the subject only where the reference has answered already.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from specaudit.checks.greedy.asked import Answer, answers, prompts_of
from specaudit.checks.seeds import first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import GREEDY, Prompt, Request

PLAIN, STAGE = "GRD3.plain", "GRD3"

_LONGEST_STRING = 6
_SEED = 12


@dataclass(frozen=True, kw_only=True)
class Case:
    """A way to end.

    Attributes:
        name: as findings name it.
        field: the request's field that asks for it; servers may refuse it.
        place: what a request says, given the plain completion and random numbers; None where there is no place for it.
        stops: whether a stop ends the completion, rather than the cap.
    """

    name: str
    field: str
    place: Callable[[Answer, int, np.random.Generator], Mapping[str, Any] | None]
    stops: bool = True


def _eos(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any]:
    return {"ignore_eos": False}


def _cap(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any] | None:
    """Any cap below the one of the plain completion."""
    return {"max_tokens": int(rng.integers(2, cap))}


def _stop_ids(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any] | None:
    """A token that the plain completion comes to behind its first."""
    first = _first_places(plain)
    later = sorted(token for token, place in first.items() if place)
    return {"stop_token_ids": (int(rng.choice(later)),)} if later else None


def _stop_strings(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any] | None:
    """A piece of the plain completion's text."""
    text = plain.completion.text or ""
    if len(text) < 2:
        return None
    end = int(rng.integers(2, len(text) + 1))
    length = int(rng.integers(1, min(_LONGEST_STRING, end) + 1))
    return {"stop": (text[end - length : end],), "ignore_eos": False}


def _min_tokens(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any] | None:
    """A stop that would come too early, and must not."""
    first = _first_places(plain)
    early = sorted(token for token, place in first.items() if 0 < place < cap // 2)
    if not early:
        return None
    token = int(rng.choice(early))
    return {"stop_token_ids": (token,), "min_tokens": int(rng.integers(first[token] + 1, cap // 2 + 1))}


def _whole(plain: Answer, cap: int, rng: np.random.Generator) -> Mapping[str, Any]:
    return {}


CASES = (
    Case(name="EOS", field="ignore_eos", place=_eos),
    Case(name="EOS ignored", field="ignore_eos", place=_whole, stops=False),
    Case(name="cap", field="max_tokens", place=_cap, stops=False),
    Case(name="stop token ids", field="stop_token_ids", place=_stop_ids),
    Case(name="stop strings", field="stop", place=_stop_strings),
    Case(name="min_tokens", field="min_tokens", place=_min_tokens),
)


def refused(case: Case, evidence: Evidence) -> list[Role]:
    """Return the arms that refuse what a case asks for."""
    if case.name == "EOS":
        return []  # it is heeded unless something else is asked for
    fields = {case.field, *(("stop_token_ids",) if case.field == "min_tokens" else ())}
    return [role for role, found in evidence.capabilities.items() if fields & set(found.refused)]


def asked_cases(evidence: Evidence) -> tuple[Case, ...]:
    """Return the cases that every arm takes, in the order of their blocks."""
    return tuple(case for case in CASES if not refused(case, evidence))


def plain_stage(plan: Plan, evidence: Evidence, prompts: int, cap: int) -> Stage:
    """Return the reference's completions, up to EOS or the cap."""
    found = enumerate(prompts_of(plan, evidence, prompts))
    said = {"ignore_eos": False}
    return Stage(
        name=PLAIN, blocks=(tuple(_request(plan, "reference", index, prompt, said, cap, 0) for index, prompt in found),)
    )


def case_stage(plan: Plan, evidence: Evidence, cap: int) -> Stage | None:
    """Return all cases, a block each; None where no plain completion came back."""
    plain = answers(evidence, PLAIN, "reference")
    if not plain:
        return None
    rng = np.random.default_rng([plan.seed, _SEED])
    blocks = []
    for number, case in enumerate(asked_cases(evidence)):
        block: list[PlannedRequest] = []
        for index, answer in plain.items():
            if (said := case.place(answer, cap, rng)) is not None:
                roles: tuple[Role, ...] = ("subject",) if case.name == "EOS" else ("subject", "reference")
                block += [_request(plan, role, index, answer.prompt, said, cap, 1 + number) for role in roles]
        blocks.append(tuple(block))
    return Stage(name=STAGE, blocks=tuple(blocks), scrape=evidence.capabilities["subject"].counters)


def _first_places(plain: Answer) -> dict[int, int]:
    """Where each token of a plain completion comes first."""
    first: dict[int, int] = {}
    for place, token in enumerate(plain.completion.tokens or ()):
        if isinstance(token, int):
            first.setdefault(token, place)
    return first


def _request(
    plan: Plan, role: Role, index: int, prompt: Prompt, said: Mapping[str, Any], cap: int, part: int
) -> PlannedRequest:
    seed = first_seed(plan, STAGE, role) + (part << 12) + index
    request = Request(**{"prompt": prompt, "sampling": GREEDY, "seed": seed, "max_tokens": cap, **said})
    return PlannedRequest(arm=role, prompt_index=index, request=request)
