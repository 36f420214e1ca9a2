"""What LAW1 asks for, stage by stage, each planned from the evidence of the stages before.

- `LAW1.pilot`: words of the reference. They choose the cells of the histograms and never enter the test.
- `LAW1.tree.D`: the reference's logprobs in every context of D tokens, which score the words that begin early.
- `LAW1.sample.R`: words of the subject, and of the reference unless the law is exact, in rounds that double. They end
  with the round in which the deviation is shown, or with the sample that the tolerance needs.

In process the law is revealed whole, and only the last stage is needed.
"""

import sys
from collections.abc import Callable
from math import ceil, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from specaudit.checks.control import law_is_told
from specaudit.checks.copies import tellable_choices
from specaudit.checks.interface import incomparable
from specaudit.checks.law1.settings import LawSettings
from specaudit.checks.law1.target import (
    PILOT,
    SAMPLE,
    TREE,
    KnownWords,
    TokenClasses,
    completion_length,
    known_words,
    prompt_contexts,
    target_laws,
    token_classes,
    word_depths,
)
from specaudit.checks.seeds import first_seed
from specaudit.checks.whole_sample import round_ends
from specaudit.laws.contexts import Context
from specaudit.laws.processors import looks_back
from specaudit.laws.words import unknown_contexts
from specaudit.model.evidence import Evidence
from specaudit.model.plan import Plan, PlannedRequest, Role, Stage
from specaudit.model.request import Prompt, Request
from specaudit.prompts.choose import choose_prompts
from specaudit.stats.chisquare import MIN_EXPECTED
from specaudit.stats.power import completions_needed

CHECK = "LAW1"

_PILOT_PART, _TREE_PART, _SAMPLE_PART = range(3)


def next_stage(plan: Plan, settings: LawSettings, evidence: Evidence) -> Stage | None:
    """Return the next stage that LAW1 needs, or None when it needs no more."""
    capabilities = evidence.capabilities
    if "reference" not in capabilities or incomparable(evidence):
        return None
    if SAMPLE in evidence.stages:
        return None
    prompts = choose_prompts(settings.prompts, list(capabilities.values()), plan.seed + 1)
    if "reference" in evidence.laws:
        contexts: tuple[Context, ...] = tuple(prompt for prompt in prompts if not isinstance(prompt, str))
        return _sample(plan, settings, evidence, prompts, contexts)
    if PILOT not in evidence.stages:
        requests = _draw(plan, settings, evidence, prompts, settings.pilot, ("reference",), part=_PILOT_PART)
        return Stage(name=PILOT, blocks=(requests,), prompts=prompts)
    contexts = prompt_contexts(evidence)
    return _tree(plan, settings, evidence, contexts) or _sample(plan, settings, evidence, prompts, contexts)


def _tree(plan: Plan, settings: LawSettings, evidence: Evidence, contexts: tuple[Context, ...]) -> Stage | None:
    """The next level of the tree of contexts, or None when it is complete, too large or of no use."""
    reference = evidence.capabilities["reference"]
    if not (reference.token_prompts and reference.logprobs) or len(contexts) < settings.prompts:
        return None
    if not law_is_told(evidence):
        return None
    if looks_back(settings.sampling):
        return None  # to the engine all of such a context is prompt, which its penalties may not look at
    laws = target_laws(settings, evidence)
    level = len(evidence.parts(TREE))
    tokens = _tree_tokens(settings, evidence)
    below = [(len(prompt), context) for prompt in contexts for context in unknown_contexts(laws, prompt, tokens)]
    missing = [context for length, context in below if len(context) == length + level]
    if not missing or len(missing) < len(below):
        return None  # complete, or the levels before left gaps that asking again would not fill
    asked = sum(evidence.stages[stage].size for stage in evidence.parts(TREE))
    requests = tuple(
        PlannedRequest(
            arm="reference",
            prompt_index=index,
            request=Request(
                prompt=tuple(token for token in context if isinstance(token, int)),
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, "reference", _TREE_PART) + asked + index,
                max_tokens=1,
                logprobs=reference.logprobs,
            ),
        )
        for index, context in enumerate(missing)
    )
    return Stage(name=f"{TREE}.{level}", blocks=(requests,))


def _tree_tokens(settings: LawSettings, evidence: Evidence) -> int:
    """Tokens down to which the tree of contexts fits into `max_contexts`: the end of the last word that it scores."""
    reference = evidence.capabilities["reference"]
    branches = settings.sampling.top_k or reference.vocabulary_size or reference.logprobs
    ends = [depth + settings.word_length for depth in word_depths(settings, evidence.capabilities["subject"])]
    fits = [end for end in ends if settings.prompts * sum(branches**i for i in range(end)) <= settings.max_contexts]
    return max(fits, default=0)


def _sample(
    plan: Plan, settings: LawSettings, evidence: Evidence, prompts: tuple[Prompt, ...], contexts: tuple[Context, ...]
) -> Stage | None:
    """A round of words of the subject, and of the reference unless the law is exact: it is held against them."""
    subject = evidence.capabilities["subject"]
    depths = word_depths(settings, subject)
    known = [known_words(settings, evidence, contexts, depth) for depth in depths]
    success = 1 - (1 - settings.success) / len(depths)
    needed = []
    for depth, words in zip(depths, known, strict=True):
        if words is not None:
            needed.append(_needed_known(settings, plan, words, success))
        elif (classes := token_classes(settings, evidence, depth)) is not None:
            needed.append(_needed_sampled(settings, plan, classes, success))
    arms: tuple[Role, ...] = ("subject",) if "reference" in evidence.laws else ("subject", "reference")
    count = min(settings.max_completions, max(needed, default=settings.max_completions))
    requests = _draw(plan, settings, evidence, prompts, count, arms, part=_SAMPLE_PART)
    turn = len(prompts) * len(arms)  # every round asks every arm for every prompt
    ends = round_ends(len(requests), settings.blocks, turn)
    number = len(evidence.parts(SAMPLE))
    if number == len(ends) - 1:
        return None
    own = requests[ends[number] : ends[number + 1]]
    return Stage(name=f"{SAMPLE}.{number}", blocks=(own,), prompts=prompts, scrape=subject.counters)


def _needed_known(settings: LawSettings, plan: Plan, words: KnownWords, success: float) -> int:
    """Completions at which a subject without deviation conforms."""
    masses = np.concatenate([np.array(list(law.values())) for law in words.laws]) / len(words.laws)

    def needed(count: int) -> int:
        kept = masses * count >= MIN_EXPECTED
        left = settings.tolerance - float(masses[~kept].sum() + masses.min())
        return _needed(int(kept.sum()), left, delta=plan.alpha, success=success, samples=1)

    return _smallest(needed, settings.max_completions)


def _needed_sampled(settings: LawSettings, plan: Plan, classes: TokenClasses, success: float) -> int:
    """Completions per arm, as far as the pilot tells which cells will be too small to stand alone."""
    pilot = classes.cells.total()
    shares = np.array(list(classes.cells.values())) / pilot

    def needed(count: int) -> int:
        # The subject's own counts choose the cells, so that it is not known of each on which side it will be: those
        # that may stand for themselves have degrees of freedom, those that may not are part of the tail, and so is
        # the rarest that does.
        spread = 2 * sqrt(2 * MIN_EXPECTED)
        kept, may = (shares * count >= 2 * MIN_EXPECTED + side * spread for side in (1, -1))
        tail = float(shares[~kept].sum()) + float(shares[kept].min(initial=1.0))
        left = settings.tolerance - tail - 3 * sqrt(tail / count) - 3 / pilot - 3 / count
        return _needed(int(may.sum()), left, delta=plan.alpha / 2, success=success, samples=2)

    return _smallest(needed, settings.max_completions)


def _needed(dof: int, left: float, *, delta: float, success: float, samples: Literal[1, 2]) -> int:
    """Completions for what pooled cells leave of the tolerance; endless where they leave nothing."""
    if left <= 0:
        return sys.maxsize
    return completions_needed(max(1, dof), left, delta=delta, success=success, samples=samples)


def _smallest(needed: Callable[[int], int], most: int) -> int:
    """The smallest count, to a tenth, that is as large as what it needs: larger samples pool fewer cells."""
    count = 100
    while count < most and needed(count) > count:
        count = count + count // 10
    return min(count, most)


def _draw(
    plan: Plan,
    settings: LawSettings,
    evidence: Evidence,
    prompts: tuple[Prompt, ...],
    count: int,
    arms: tuple[Role, ...],
    *,
    part: int,
) -> tuple[PlannedRequest, ...]:
    """Requests for `count` completions per arm, arms and prompts mixed at random."""
    capabilities = evidence.capabilities
    most = min(settings.choices, *(capabilities[arm].max_choices for arm in arms))
    choices = tellable_choices(most, count, len(prompts))
    length = completion_length(settings, capabilities["subject"])
    per_prompt = ceil(count / (len(prompts) * choices))
    requests = [
        PlannedRequest(
            arm=arm,
            prompt_index=index,
            request=Request(
                prompt=(),
                sampling=settings.sampling,
                seed=first_seed(plan, CHECK, arm, part) + (round_ * len(prompts) + index) * choices,
                n=choices,
                max_tokens=length,
            ),
        )
        for round_ in range(per_prompt)
        for index in range(len(prompts))
        for arm in arms
    ]
    rng = np.random.default_rng([plan.seed, part])
    return tuple(requests[slot] for slot in _interleaved(rng, len(requests), len(prompts) * len(arms)))


def _interleaved(rng: np.random.Generator, count: int, group: int) -> NDArray[np.int64]:
    """An order of `count` requests in which each group of neighbours is shuffled: the start of it is balanced too."""
    keys = np.arange(count) // group + rng.random(count)
    return np.argsort(keys, kind="stable")
