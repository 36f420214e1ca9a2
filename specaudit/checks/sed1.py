"""SED1: the same seed twice."""

import msgspec

from specaudit.checks.control import no_seeds
from specaudit.checks.paired import PairedCheck, PairedSettings
from specaudit.checks.seeds import first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Plan
from specaudit.model.request import Request, Sampling


class SeedSettings(PairedSettings, frozen=True, kw_only=True):
    """What `[checks.SED1]` of a suite may say."""

    sampling: Sampling = msgspec.field(default_factory=Sampling)


class SameSeed(PairedCheck[SeedSettings]):
    """SED1 same seed, same tokens.

    Requirement: the same request with the same seed is answered with the same tokens, whatever is asked in between.

    Null hypothesis: a request's answer is a function of the request and its seed.

    Statistic: each prompt is asked twice with one seed, all of the first answers before any of the second; the share
    of prompts whose answers differ, with Clopper-Pearson bounds. Violates when its lower bound exceeds the tolerance:
    a few differences may be numeric noise of another batch. Conforms when its upper bound is below it.

    Assumptions: the server was as loaded both times; answers were not served from a cache.

    Source: Clopper and Pearson 1934.

    Kills: seed-ignored. Spares: plain decoding, correct speculation.
    """

    id = "SED1"
    title = "same seed, same tokens"
    settings_type = SeedSettings
    share_of = "share of answers that changed"
    assumptions = ("the server was as loaded both times", "answers were not served from a cache")
    prompt_seed = 4

    def why_not(self, evidence: Evidence) -> str:
        """Seeds may be refused, and a cache repeats itself in any case."""
        return no_seeds(evidence)

    def requests(self, plan: Plan, settings: SeedSettings, count: int) -> tuple[list[Request], list[Request]]:
        """Return the same requests twice."""
        first = first_seed(plan, self.id, "subject")
        asked = [
            Request(prompt=(), sampling=settings.sampling, seed=first + index, max_tokens=settings.max_tokens)
            for index in range(count)
        ]
        return asked, asked

    def told(self, different: int, pairs: int, verdict: Verdict) -> str:
        """Say how many answers changed."""
        found = f"{different} of {pairs} requests were answered differently when asked again."
        return f"The seed does not decide the answer: {found}" if verdict is Verdict.VIOLATES else found
