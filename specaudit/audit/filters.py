"""Which of the filters and fields that a suite asks for an engine refuses, although it takes their neutral values.

Engines that speculate refuse what their verifier cannot apply: vLLM a min_p above 0, and any bias.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import msgspec

from specaudit.checks import registry
from specaudit.engines.interface import Engine, EngineFailure, Probe
from specaudit.engines.pace import Pacer
from specaudit.engines.refusals import refuses
from specaudit.model.limits import at_most, cost_of
from specaudit.model.plan import Plan
from specaudit.model.request import Request, Sampling

_PROBED_ANYWAY = ("temperature", "top_k", "top_p")
_NEUTRAL = Request(prompt="the quick brown fox", sampling=Sampling(), seed=1, max_tokens=1)


def wanted_filters(plan: Plan) -> dict[str, Request]:
    """Return the filters and fields that the selected checks turn on, each by its name with a request for it alone."""
    found: dict[str, Request] = {}
    for check_id in plan.checks:
        for field, value in registry.get(check_id).optional_fields.items():
            found[field] = msgspec.structs.replace(_NEUTRAL, **{field: value})
        for sampling in registry.get(check_id).samplings(registry.settings_of(plan.suite, check_id)):
            names = [name for name in sampling.changed if name not in _PROBED_ANYWAY]
            for name in names:
                alone = Sampling(**{name: getattr(sampling, name)})
                found[name] = msgspec.structs.replace(_NEUTRAL, sampling=alone)
    return found


async def with_refused_filters(engine: Engine, probe: Probe, wanted: Mapping[str, Request], pacer: Pacer) -> Probe:
    """Ask for each of them by itself, and add those that are refused to what the probe found.

    Only what is refused for being asked is: a server that is busy is asked again, and one that fails tells nothing.
    """
    for name, request in wanted.items():
        if name in probe.capabilities.refused:
            continue
        try:
            response = await pacer.patiently(partial(engine.complete, request), at_most(request).tokens)
        except EngineFailure as error:
            said = error.failure.message
            if refuses(error.failure):
                refused = (*probe.capabilities.refused, name)
                probe = replace(probe, capabilities=msgspec.structs.replace(probe.capabilities, refused=refused))
        else:
            said = "applied or ignored"
            probe = replace(probe, spent=probe.spent + cost_of(request, response))
        probe = replace(probe, exchanges=(*probe.exchanges, f"{name} = {_value(request, name)}: {said}"))
    return probe


def _value(request: Request, name: str) -> object:
    """What is tried, in a note's words."""
    return getattr(request.sampling if name in Sampling.__struct_fields__ else request, name)
