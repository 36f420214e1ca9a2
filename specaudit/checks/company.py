"""A batch for a request to stand in: neighbours of other lengths, parameters and numbers of choices.

Rows near their cap draft less than the others, so that short neighbours keep a batch ragged; those with several
choices make it wide, whatever the number of requests in flight.
"""

from collections.abc import Iterator
from itertools import chain

from specaudit.checks.control import reachable
from specaudit.checks.seeds import first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role
from specaudit.model.request import GREEDY, Request, Sampling

NEIGHBOURS = 3
"""Sent beside each request; with that many more in flight, every request has some."""

LEAST_IN_FLIGHT = 2
"""Requests in flight without which there is no batch."""

_CHOICES = 8

_SAMPLING = (Sampling(), Sampling(temperature=0.7, top_p=0.9), GREEDY, Sampling(temperature=1.3, top_k=3))
_CAPS = (3, 4, 0, 3, 2)
"""Tokens of a neighbour, 0 for as many as the request that it stands beside may have; 2, 3 and 4 leave room for a few
drafts only. Of another length than the list of parameters, so that all combinations come."""


def in_company(
    plan: Plan, check_id: str, evidence: Evidence, role: Role, requests: tuple[PlannedRequest, ...], *, part: int
) -> tuple[PlannedRequest, ...]:
    """Return requests with their neighbours, in the order in which they are sent.

    Args:
        plan: The header.
        check_id: The check whose requests they are.
        evidence: What the arms were found to take.
        role: The arm that is asked.
        requests: Those that are looked at, with shared prompts.
        part: Part of the check that the neighbours' seeds belong to.
    """
    choices = max(1, min(_CHOICES, evidence.capabilities[role].max_choices))
    seed = first_seed(plan, check_id, role, part)
    beside: Role = "background" if role == "subject" else role
    prompts = 1 + max(planned.prompt_index for planned in requests)
    mixed = [reachable(sampling, evidence) for sampling in _SAMPLING]

    def neighbours(index: int, planned: PlannedRequest) -> Iterator[PlannedRequest]:
        for number in range(index * NEIGHBOURS, (index + 1) * NEIGHBOURS):
            cap = _CAPS[number % len(_CAPS)]
            request = Request(
                prompt=(),
                sampling=mixed[number % len(mixed)],
                seed=seed + number * choices,
                n=choices if cap else 1,
                max_tokens=cap or planned.request.max_tokens,
            )
            other = (planned.prompt_index + 1 + number) % prompts
            yield PlannedRequest(arm=beside, prompt_index=other, request=request)

    groups = ((*neighbours(index, planned), planned) for index, planned in enumerate(requests))
    return tuple(chain.from_iterable(groups))


def places_in_company(count: int) -> range:
    """Return where the requests that are looked at stand among their neighbours."""
    return range(NEIGHBOURS, count * (NEIGHBOURS + 1), NEIGHBOURS + 1)
