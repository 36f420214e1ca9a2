"""Which of the filters that a suite asks for an engine refuses, although it takes their neutral values.

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
_PROMPT = "the quick brown fox"


def wanted_filters(plan: Plan) -> dict[str, Sampling]:
    """Return the filters that the selected checks turn on, each by its name with parameters that ask for it alone."""
    found: dict[str, Sampling] = {}
    for check_id in plan.checks:
        sampling = getattr(registry.settings_of(plan.suite, check_id), "sampling", None)
        if isinstance(sampling, Sampling):
            names = [name for name in sampling.changed if name not in _PROBED_ANYWAY]
            found |= {name: Sampling(**{name: getattr(sampling, name)}) for name in names}
    return found


async def with_refused_filters(engine: Engine, probe: Probe, wanted: Mapping[str, Sampling], pacer: Pacer) -> Probe:
    """Ask for each filter by itself, and add those that are refused to what the probe found.

    Only what is refused for being asked is: a server that is busy is asked again, and one that fails tells nothing.
    """
    for name, sampling in wanted.items():
        if name in probe.capabilities.refused:
            continue
        request = Request(prompt=_PROMPT, sampling=sampling, seed=1, max_tokens=1)
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
        probe = replace(probe, exchanges=(*probe.exchanges, f"{name} = {getattr(sampling, name)}: {said}"))
    return probe
