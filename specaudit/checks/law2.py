"""LAW2: the support of the law, at its narrowest."""

from specaudit.checks.control import no_greedy_decoding
from specaudit.checks.paired import PairedCheck, PairedSettings
from specaudit.checks.seeds import first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Verdict
from specaudit.model.plan import Plan
from specaudit.model.request import GREEDY, Request, Sampling

_NARROWEST = Sampling(temperature=1.0, top_k=1)


class SupportSettings(PairedSettings, frozen=True, kw_only=True):
    """What `[checks.LAW2]` of a suite may say."""


class Support(PairedCheck[SupportSettings]):
    """LAW2 support.

    Requirement: nothing outside the processed nucleus is emitted. With top_k = 1 the nucleus is one token, the one that
    greedy decoding takes, so that one endpoint can be held against itself.

    Null hypothesis: sampling with top_k = 1 at temperature 1 emits what temperature 0 emits.

    Statistic: each prompt is asked in both ways; the share of prompts whose answers differ, with Clopper-Pearson
    bounds. Violates when its lower bound exceeds the tolerance: a few differences may be near ties that another batch
    decides otherwise. Conforms when its upper bound is below it.

    Assumptions: the server was as loaded both times. Faults that both ways share stay unseen.

    Source: Fan, Lewis, Dauphin 2018 (top-k sampling); Clopper and Pearson 1934.

    Kills: resample-next-row, inverted-ratio. Spares: plain decoding, correct speculation.
    """

    id = "LAW2"
    title = "support"
    settings_type = SupportSettings
    share_of = "share of differing answers"
    assumptions = ("the server was as loaded both times", "faults that both ways share stay unseen")
    prompt_seed = 5

    def why_not(self, evidence: Evidence) -> str:
        """Temperature 0 may be out of reach, and top_k be refused."""
        subject = evidence.capabilities.get("subject")
        if reason := no_greedy_decoding(evidence):
            return reason
        return "The subject refuses top_k." if subject is not None and "top_k" in subject.refused else ""

    def requests(self, plan: Plan, settings: SupportSettings, count: int) -> tuple[list[Request], list[Request]]:
        """Return greedy requests, and the same with top_k = 1 at temperature 1."""
        greedy, narrow = (
            [
                Request(
                    prompt=(),
                    sampling=sampling,
                    seed=first_seed(plan, self.id, "subject", part) + index,
                    max_tokens=settings.max_tokens,
                )
                for index in range(count)
            ]
            for part, sampling in enumerate((GREEDY, _NARROWEST))
        )
        return greedy, narrow

    def told(self, different: int, pairs: int, verdict: Verdict) -> str:
        """Say how many answers differ."""
        return f"With top_k = 1 {different} of {pairs} answers differ from greedy decoding."
