"""What LAW5 asks for beside its cells.

- `LAW5.pilot`: short completions of the reference. They tell which tokens are common enough to be biased and forbidden.
- `LAW5.asked`: one request for each cell of each arm, which it may refuse.
- `LAW5.effect`: completions of each arm under each parameter by itself, at a value that nobody can overlook, beside
  completions without: whether it is applied at all.
- `LAW5.N.…`: the stages of cell N, as LAW1 asks for them.

Engines in process are not asked whether they apply what they are asked for: that is known.
"""

from collections import Counter
from dataclasses import dataclass

from specaudit.checks.control import reachable
from specaudit.checks.law1.check import EmittedLaw
from specaudit.checks.law5.cells import Cell, Common, cells, sampling_of
from specaudit.checks.law5.settings import MatrixSettings
from specaudit.checks.part import Part
from specaudit.checks.seeds import first_seed
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Request, Sampling, Token
from specaudit.prompts.choose import choose_prompts

CHECK = "LAW5"
PILOT = "LAW5.pilot"
ASKED = "LAW5.asked"
EFFECT = "LAW5.effect"

_PILOT_PART, _ASKED_PART, _EFFECT_PART = range(3)
_PILOT_COMPLETIONS = 256
_EFFECT_COMPLETIONS = 96
_EFFECT_TOKENS = 8
_ARMS: tuple[Role, ...] = ("subject", "reference")


@dataclass(frozen=True, kw_only=True)
class AskedCell:
    """A planned cell, as it can be asked for."""

    cell: Cell
    sampling: Sampling
    left_out: frozenset[str]
    """Fields of `Sampling` that cannot be asked for, and are neutral instead."""
    dropped: str
    """Why it is not asked for at all, in a clause; empty where it is."""

    @property
    def on(self) -> tuple[str, ...]:
        """Names of the parameters that are really on."""
        return tuple(name for name, level in self.cell.levels.items() if not self.left_out.issuperset(level.fields))

    @property
    def name(self) -> str:
        """As a reader is told, without what was left out."""
        return ", ".join(self.cell.levels[name].label for name in self.on) or "every parameter neutral"


def in_process(plan: Plan) -> bool:
    """Say whether the subject runs in process."""
    subject = plan.arm("subject")
    return subject is None or subject.endpoint is None


def asked_cells(settings: MatrixSettings, evidence: Evidence) -> tuple[AskedCell, ...]:
    """Return all planned cells as they can be asked for.

    A parameter that an arm refuses is neutral wherever it was planned, so that the pairs of the others are still
    covered; what then is the same as another cell is dropped, and so is a cell that an arm refuses as it is.
    """
    common = common_tokens(evidence)
    refused = _refused_cells(evidence)
    found: list[AskedCell] = []
    seen: dict[Sampling, int] = {}
    for cell in cells(settings):
        wanted = sampling_of(cell, common)
        sampling = reachable(wanted, evidence)
        left_out = frozenset(name for name in cell.fields if name not in sampling.changed)
        dropped = refused.get(cell.number, "")
        if not dropped and sampling in seen:
            names = ", ".join(sorted(left_out))
            dropped = f"without {names} it is cell {seen[sampling] + 1}"
        seen.setdefault(sampling, cell.number)
        found.append(AskedCell(cell=cell, sampling=sampling, left_out=left_out, dropped=dropped))
    return tuple(found)


def part_of(settings: MatrixSettings, asked: AskedCell, planned: int) -> Part:
    """Return a cell as an audit of its own by LAW1.

    A law is computed for engines in process only, and none under a grammar. Elsewhere the reference's own words count:
    whatever an engine makes of parameters together, caps or ignores, its plain decoding makes the same of them.
    """
    return Part(
        owner=CHECK,
        number=asked.cell.number,
        planned=planned,
        check=EmittedLaw(),
        settings=settings.of_cell(asked.sampling),
        revealed=asked.sampling.grammar is None,
        hidden={"logprobs": 0, "logprobs_mode": "unknown", "scores_prompts": False},
    )


def pilot_stage(plan: Plan, settings: MatrixSettings, evidence: Evidence) -> Stage | None:
    """Return the request for short completions of the reference; None where no parameter names tokens."""
    if PILOT in evidence.stages or not (settings.logit_bias or settings.bad_words):
        return None
    choices = min(_PILOT_COMPLETIONS, evidence.capabilities["reference"].max_choices)
    first = first_seed(plan, CHECK, "reference", _PILOT_PART)
    block = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=0,
            request=Request(prompt=(), sampling=Sampling(), seed=seed, n=choices, max_tokens=2),
        )
        for seed in range(first, first + _PILOT_COMPLETIONS, choices)
    )
    return Stage(name=PILOT, blocks=(block,), prompts=_prompts(plan, evidence))


def asked_stage(plan: Plan, settings: MatrixSettings, evidence: Evidence) -> Stage | None:
    """Return one request for each cell and arm."""
    if ASKED in evidence.stages:
        return None
    block = tuple(
        _planned(plan, arm, _ASKED_PART, asked.cell.number, asked.sampling, n=1, max_tokens=2)
        for asked in asked_cells(settings, evidence)
        for arm in _ARMS
    )
    return Stage(name=ASKED, blocks=(block,), prompts=_prompts(plan, evidence))


def effect_stage(plan: Plan, settings: MatrixSettings, evidence: Evidence) -> Stage | None:
    """Return completions of each arm under each parameter alone; None for engines in process."""
    if EFFECT in evidence.stages or in_process(plan):
        return None
    ways = effect_ways(settings, evidence)
    choices = min(_EFFECT_COMPLETIONS, *(evidence.capabilities[arm].max_choices for arm in _ARMS))
    block = tuple(
        _planned(plan, arm, _EFFECT_PART, number, sampling, n=choices, max_tokens=_EFFECT_TOKENS)
        for number, (arm, sampling) in enumerate(
            (arm, sampling)
            for sampling in ways.values()
            for _ in range(0, _EFFECT_COMPLETIONS, choices)
            for arm in _ARMS
        )
    )
    return Stage(name=EFFECT, blocks=(block,), prompts=_prompts(plan, evidence))


def effect_ways(settings: MatrixSettings, evidence: Evidence) -> dict[str, Sampling]:
    """Return the parameters by which completions are compared, by field; the empty name is without any.

    Values are far from neutral, so that whoever applies them at all cannot but show it.
    """
    common = common_tokens(evidence)
    asked = {
        name for one in asked_cells(settings, evidence) if not one.dropped for name in one.cell.fields - one.left_out
    }
    far: dict[str, Sampling] = {
        "temperature": Sampling(temperature=0.1),
        "top_p": Sampling(top_p=0.1),
        "top_k": Sampling(top_k=1),
        "min_p": Sampling(min_p=0.9),
        "presence_penalty": Sampling(presence_penalty=2.0),
        "frequency_penalty": Sampling(frequency_penalty=2.0),
        "repetition_penalty": Sampling(repetition_penalty=5.0),
        "logit_bias": Sampling(logit_bias=() if common.token is None else ((common.token, 20.0),)),
        "bad_words": Sampling(bad_words=() if common.word is None else (common.word,)),
        "grammar": Sampling(grammar=settings.grammar),
    }
    return {"": Sampling()} | {name: sampling for name, sampling in far.items() if name in asked}


def common_tokens(evidence: Evidence) -> Common:
    """Return what the pilot found common: the second most common first token, and the most common pair."""
    first: Counter[Token] = Counter()
    pairs: Counter[tuple[Token, ...]] = Counter()
    texts: dict[tuple[Token, ...], str | None] = {}
    if PILOT not in evidence.stages:
        return Common()
    for _, _, response in evidence.answered(PILOT, "reference"):
        for completion in response.completions if response else ():
            tokens = completion.tokens or ()
            if len(tokens) == 2:
                first[tokens[0]] += 1
                pairs[tokens] += 1
                texts.setdefault(tokens, completion.text)
    if not pairs:
        return Common()
    ranked = sorted(first, key=lambda token: (-first[token], str(token)))
    token = ranked[min(1, len(ranked) - 1)]
    pair = min(pairs, key=lambda pair: (-pairs[pair], str(pair)))
    word = _word(pair, texts[pair], ids=in_process(evidence.plan))
    told = evidence.capabilities["reference"].tokens == "ids"
    return Common(token=token if told and isinstance(token, int) else None, word=word)


def _word(pair: tuple[Token, ...], text: str | None, *, ids: bool) -> tuple[Token, ...] | None:
    """A pair as the engines take it: servers take bad words as text."""
    if ids:
        return pair
    if all(isinstance(token, str) for token in pair):
        text = "".join(map(str, pair))
    return (text,) if text and text.strip() else None


def _planned(
    plan: Plan, arm: Role, part: int, number: int, sampling: Sampling, *, n: int, max_tokens: int
) -> PlannedRequest:
    seed = first_seed(plan, CHECK, arm, part) + number * n
    request = Request(prompt=(), sampling=sampling, seed=seed, n=n, max_tokens=max_tokens)
    return PlannedRequest(arm=arm, prompt_index=0, request=request)


def _prompts(plan: Plan, evidence: Evidence) -> tuple[str | tuple[int, ...], ...]:
    """The prompt of all cells: that which LAW1 chooses with the plan's seed."""
    arms = [evidence.capabilities[arm] for arm in _ARMS]
    return choose_prompts(1, arms, plan.seed + 1, plan.suite.prompts.sets)


def _refused_cells(evidence: Evidence) -> dict[int, str]:
    """Why cells are refused that were asked for once, by their number."""
    refused: dict[int, str] = {}
    for slot, planned in enumerate(evidence.stages[ASKED].slots() if ASKED in evidence.stages else ()):
        for attempt in evidence.attempts_at(ASKED, slot):
            if attempt.failure is not None and attempt.failure.reason == "status" and not attempt.failure.lost:
                told = f"the {planned.arm} refuses it ({attempt.failure.message.rstrip('.')})"
                refused.setdefault(slot // len(_ARMS), told)
    return refused


def effect_answers(evidence: Evidence, arm: Role, sampling: Sampling) -> list[tuple[Token, ...]]:
    """Return the completions that an arm gave under a parameter, whole ones only."""
    found: list[tuple[Token, ...]] = []
    for _, planned, response in evidence.answered(EFFECT, arm) if EFFECT in evidence.stages else ():
        if planned.request.sampling == sampling and response is not None:
            found += [one.tokens for one in response.completions if one.tokens and len(one.tokens) == _EFFECT_TOKENS]
    return found
