"""A small matrix over HTTP, against decoders that are served in this process."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec

from specaudit.audit.audit import Audit
from specaudit.audit.run import run_audit
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.completion import Response
from specaudit.model.finding import Finding
from specaudit.model.report import Report
from specaudit.model.request import Request
from specaudit.model.suite import Suite
from specaudit.mutants import registry
from specaudit.serve.app import make_app
from specaudit.serve.switches import Switches
from tests.engines.serving import running

SMALL: Mapping[str, Any] = {
    "tolerance": 0.25,
    "temperature": [0.6],
    "top_p": [],
    "top_k": [],
    "min_p": [],
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "repetition_penalty": 1,
    "bad_words": False,
    "grammar": None,
    "max_completions": 150,
    "blocks": 2,
}
"""Temperature and a bias: four cells."""


class Twisted(ReferenceEngine):
    """A decoder that is asked for something else than it was asked for, in silence.

    Args:
        decoder: As for every engine.
        twist: What it makes of a request's sampling parameters.
    """

    def __init__(self, decoder: SpeculativeDecoder, **twist: Any) -> None:
        super().__init__(decoder)
        self._twist = twist

    async def complete(self, request: Request) -> Response:
        """Answer another request."""
        sampling = request.sampling
        changed = {name: twist(sampling) if callable(twist) else twist for name, twist in self._twist.items()}
        return await super().complete(
            msgspec.structs.replace(request, sampling=msgspec.structs.replace(sampling, **changed))
        )


def served(name: str = "reference", *, draft_tokens: int = 3, **twist: Any) -> Twisted:
    """A decoder by name, perhaps with parameters that it ignores or caps."""
    build = SpeculativeDecoder if name == "reference" else registry.get(name).build
    return Twisted(build(MARKOV4, draft_tokens=draft_tokens), **twist)


def audited(
    out: Path,
    subject: ReferenceEngine,
    reference: ReferenceEngine | None = None,
    *,
    settings: Mapping[str, Any] = SMALL,
    switches: Switches | None = None,
) -> tuple[Finding, Report]:
    """LAW5 of a subject against a plain reference, both over HTTP."""
    suite = Suite(name="matrix", title="", alpha=1e-3, concurrency=8, checks={"LAW5": dict(settings)})
    with ExitStack() as stack:
        ours, theirs = (
            stack.enter_context(running(make_app(engine, switches or Switches())))
            for engine in (subject, reference or served(draft_tokens=0))
        )
        report = run_audit(
            Audit(suite=suite, out=out, endpoint=f"{ours}/v1", reference=f"{theirs}/v1", metrics=f"{ours}/metrics")
        )
    return report.findings[0], report
