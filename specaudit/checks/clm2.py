"""CLM2: the speed-up at matched load."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
import numpy as np

from specaudit.checks.commands import rerun
from specaudit.checks.interface import Budget, Check
from specaudit.checks.load import ARMS, Quad, measured, plan_load
from specaudit.checks.load import STAGE as LOAD
from specaudit.checks.selfsame import is_self
from specaudit.claims.space import lowest
from specaudit.model.estimate import Deviation
from specaudit.model.evidence import Evidence
from specaudit.model.exhibit import Column, Exhibit
from specaudit.model.finding import Effect, Finding, Verdict
from specaudit.model.plan import Plan, Role, Stage
from specaudit.model.request import GREEDY, Sampling
from specaudit.model.suite import CheckSettings
from specaudit.stats.intervals import Interval, blocks_needed, paired_ratio

_SEEN = (
    "equal in both arms: prompts and their order, output lengths, sampling, requests in flight or a second, client",
    "not seen from outside: image, weights, quantisation, cache budget, parallelism and number of devices (the "
    "drafter's counted), CUDA graphs, asynchronous scheduling, prefix cache, chunked prefill, how well the baseline "
    "was tuned",
)
_POWER = 0.9

_SHOWN = 250
"""Most latencies of an arm that an exhibit holds."""


class LoadSettings(CheckSettings, frozen=True, kw_only=True):
    """Settings of CLM2."""

    quads: Annotated[int, msgspec.Meta(ge=2, le=500)] = 8
    """Times that each arm runs twice, in the order A B B A; the interval rests on how much they differ."""
    warm_up: Annotated[int, msgspec.Meta(ge=0, le=50)] = 1
    """Quads before these, which are asked and not counted."""
    requests: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 8
    """Of a block."""
    max_tokens: Annotated[int, msgspec.Meta(ge=2)] = 64
    """Of every completion: none ends before."""
    sampling: Sampling = GREEDY
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    """Requests in flight; the plan's unless given."""
    rate: Annotated[float, msgspec.Meta(gt=0, le=10_000)] | None = None
    """Requests a second that are sent whether those before are answered or not; None for a closed loop."""
    stated: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """The speed-up that was claimed; without one it must not be a slow-down. `--claim FILE` puts it here."""
    tolerance: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.05
    """Share of the claimed speed-up by which the lower bound may miss it."""


class SpeedUp(Check[LoadSettings]):
    """CLM2 the speed-up at matched load.

    Requirement: the subject answers the same work as many times faster than the reference as was claimed, or not more
    slowly where nothing was.

    Method: both arms are asked the same prompts with the same caps in blocks that take turns, A B B A and then
    B A A B, at the same number of requests in flight or the same rate. No prompt is asked of an arm twice. The first
    quads warm up and are not counted. A quad in which an answer is missing, was asked for again or is short is left
    out, and told.

    Statistic: D = ln(seconds of the reference / seconds of the subject) for every quad; the interval exp(mean D ±
    t s/√B). Tokens are counted by their ids or as billed. Violates when the interval lies below the claimed figure, as
    it was rounded; conforms when it lies above it less the tolerance.

    Assumptions: quads are independent and what drifts does so steadily within a quad; what cannot be seen from outside
    is equal (the finding lists it).

    Source: Georges, Buytaert, Eeckhout, Statistically rigorous Java performance evaluation, OOPSLA 2007; MLPerf
    Inference (tokens and not chunks, closed and open loop).

    Kills: a stated speed-up of 3 where 2 is measured. Spares: a stated 2.
    """

    id = "CLM2"
    title = "the speed-up at matched load"
    settings_type = LoadSettings

    def next_stage(self, plan: Plan, settings: LoadSettings, evidence: Evidence) -> Stage | None:
        """Ask both arms in turns, once."""
        if LOAD in evidence.stages or self._no_arms(settings, evidence) is not None:
            return None
        return plan_load(
            plan,
            evidence,
            quads=settings.warm_up + settings.quads,
            requests=settings.requests,
            max_tokens=settings.max_tokens,
            sampling=settings.sampling,
            concurrency=settings.concurrency,
            rate=settings.rate,
        )

    def smallest_detectable(self, plan: Plan, settings: LoadSettings, evidence: Evidence) -> Deviation | None:
        """How much quads differ is not known before they are run."""
        return None

    def judge(self, settings: LoadSettings, evidence: Evidence, budget: Budget) -> Finding:
        """Compare the arms' times quad by quad."""
        if (cannot := self._no_arms(settings, evidence)) is not None:
            return cannot
        quads = measured(evidence) if LOAD in evidence.stages else []
        counted = [quad for quad in quads[settings.warm_up :] if quad.whole]
        left_out = max(0, len(quads) - settings.warm_up) - len(counted)
        if len(counted) < 2:
            return self.cannot_say(
                settings,
                Verdict.INCONCLUSIVE,
                f"{len(counted)} of {settings.quads} quads were answered whole, which is too few for an interval.",
                rerun(evidence.plan, self.id),
            )
        seconds = {arm: [quad.seconds(arm) for quad in counted] for arm in ARMS}
        interval = paired_ratio(seconds["reference"], seconds["subject"], 1 - budget.alpha)
        verdict, summary = _verdict(settings, interval, seconds)
        return Finding(
            check=self.id,
            verdict=verdict,
            required=settings.required,
            summary=summary,
            effect=Effect(
                name="speed-up",
                value=interval.value,
                low=interval.low,
                high=interval.high,
                confidence=1 - budget.alpha / 2,
                unit="times as fast",
            ),
            alpha=budget.alpha,
            measured=_figures(counted, settings.warm_up, left_out),
            exhibits=tuple(_exhibits(counted)),
            assumptions=("quads are independent", "what drifts does so steadily within a quad"),
            notes=(*_SEEN, *((f"{left_out} quads were left out: their answers were not whole",) if left_out else ())),
            next_step="" if verdict is Verdict.CONFORMS else rerun(evidence.plan, self.id, new_samples=True),
        )

    def _no_arms(self, settings: LoadSettings, evidence: Evidence) -> Finding | None:
        if not all(arm in evidence.capabilities for arm in ARMS) or is_self(evidence.plan):
            return self.cannot_say(
                settings,
                Verdict.NOT_APPLICABLE,
                "A speed-up is one over plain decoding of the same target, and no such server is named.",
                f"{rerun(evidence.plan, self.id)} --reference URL_OF_THE_PLAIN_SERVER",
            )
        return None


def _verdict(
    settings: LoadSettings, interval: Interval, seconds: Mapping[Role, Sequence[float]]
) -> tuple[Verdict, str]:
    claimed = settings.stated
    least = 1.0 if claimed is None else lowest(claimed)
    figure = f"The subject is {interval.value:.3g} times as fast ({interval.low:.3g} to {interval.high:.3g})"
    said = f"{figure}; {claimed:g} was claimed" if claimed is not None else figure
    if interval.high < least:
        return Verdict.VIOLATES, f"{said}." if claimed is not None else f"{said}: speculation slows it down."
    if interval.low >= least * (1 - settings.tolerance):
        return Verdict.CONFORMS, f"{said}."
    spread = float(np.std(np.log(np.array(seconds["reference"]) / seconds["subject"]), ddof=1))
    needed = blocks_needed(spread, settings.tolerance, confidence=interval.confidence, power=_POWER)
    settle = f"; {needed:,} quads would tell a difference of {settings.tolerance:.0%}" if needed > len(seconds) else ""
    return Verdict.INCONCLUSIVE, f"{said}, which is neither shown nor refuted{settle}."


def _figures(counted: Sequence[Quad], warm_up: int, left_out: int) -> dict[str, float]:
    """Rates and latencies of each arm, in tokens a second and seconds."""
    found = {"quads counted": float(len(counted)), "quads for warming up": float(warm_up)}
    found |= {"quads left out": float(left_out)} if left_out else {}
    for arm in ARMS:
        blocks = [block for quad in counted for block in quad.blocks if block.arm == arm]
        latencies = np.concatenate([block.latencies for block in blocks])
        first = np.concatenate([block.first for block in blocks])
        tokens, seconds = sum(block.tokens for block in blocks), sum(block.seconds for block in blocks)
        found[f"{arm}, tokens a second"] = tokens / seconds
        for share in (50, 99):
            found[f"{arm}, seconds to the answer, {share} %"] = float(np.percentile(latencies, share))
            if first.size:
                found[f"{arm}, seconds to the first token, {share} %"] = float(np.percentile(first, share))
        if first.size == latencies.size:
            per_token = (latencies - first) / (tokens / latencies.size - 1)
            found[f"{arm}, seconds between tokens"] = float(per_token.mean())
    return found


def _exhibits(counted: Sequence[Quad]) -> list[Exhibit]:
    """Speed-ups of single quads, and the distributions of latencies."""
    ratios = [quad.seconds("reference") / quad.seconds("subject") for quad in counted]
    shown = [
        Exhibit(
            title="Speed-up of each quad",
            form="points",
            columns=(
                Column(name="quad", values=tuple(float(number) for number in range(1, len(ratios) + 1))),
                Column(name="speed-up", values=tuple(ratios), unit="times as fast"),
                Column(name="label", values=tuple("" for _ in ratios)),
            ),
            rules={"no speed-up": 1.0},
            marked="below",
        )
    ]
    for title, name in (("Seconds to the whole answer", "latencies"), ("Seconds to the first token", "first")):
        samples = [
            (arm, value)
            for arm in ARMS
            for value in _thinned(
                [v for quad in counted for block in quad.blocks if block.arm == arm for v in getattr(block, name)]
            )
        ]
        if samples:
            shown.append(
                Exhibit(
                    title=title,
                    form="steps",
                    columns=(
                        Column(name="arm", values=tuple(arm for arm, _ in samples)),
                        Column(name="seconds", values=tuple(value for _, value in samples), unit="s"),
                    ),
                )
            )
    return shown


def _thinned(values: Sequence[float]) -> list[float]:
    """All values in order, or as many quantiles as a drawing shows."""
    if len(values) <= _SHOWN:
        return sorted(map(float, values))
    found: list[float] = np.quantile(values, np.linspace(0, 1, _SHOWN)).tolist()
    return found
