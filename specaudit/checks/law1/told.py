"""What LAW1 found, in words."""

from dataclasses import dataclass

from specaudit.checks.commands import rerun, with_option
from specaudit.checks.control import only_characters
from specaudit.checks.copies import Choices
from specaudit.checks.law1.judged import JudgedView
from specaudit.checks.law1.looking import Looked
from specaudit.checks.law1.settings import LawSettings
from specaudit.laws.edge import rounding
from specaudit.model.evidence import Evidence
from specaudit.model.finding import Betting, Verdict


@dataclass(frozen=True, kw_only=True)
class Told:
    """What the sentences are made of."""

    verdict: Verdict
    worst: JudgedView
    early: Betting | None
    """The bets, where they ended the sample."""
    bounded: bool
    missing: str
    """The verification path that was not taken, or not seen; empty where none is missing."""
    choices: Choices


def summary(settings: LawSettings, told: Told, looked: Looked) -> str:
    """Return one plain sentence."""
    worst = told.worst
    where = "on average over a completion" if looked.how != "depths" else "at every depth"
    prompts = f"{settings.prompts} prompt{'s' if settings.prompts > 1 else ''}"
    in_classes = any("classes" in view.level for view in looked.views)
    scope = f" on {prompts}, tokens taken in {settings.classes} classes" if in_classes else f" on {prompts}"
    if told.verdict is Verdict.VIOLATES:
        if told.early is not None:
            return (
                f"Tokens do not have the target's law, which bets on them showed after "
                f"{told.early.rejected_after:,}; the {_named(settings, worst)} differ most."
            )
        return (
            f"The {_named(settings, worst)} do not have the target's law: total variation "
            f"{worst.estimate:.3f}, at least {worst.low:.3f}."
        )
    words = f"{settings.word_length}-token words"
    if told.verdict is Verdict.CONFORMS:
        return (
            f"{where.capitalize()} the {words} are within total variation {worst.high:.3f} of the target's "
            f"law{scope}; {settings.tolerance:g} is tolerated."
        )
    if told.bounded and told.missing and told.choices != "copies" and not looked.unseen:
        return (
            f"The {words} are within total variation {worst.high:.3f} of the target's law, but this says nothing of "
            f"the verifier: {told.missing}."
        )
    reasons = []
    if told.choices != "independent":
        are = "are" if told.choices == "copies" else "cannot be told from"
        reasons.append(f"choices of one request {are} copies of each other, so only the first of each was counted")
    if not told.bounded:
        at = worst.words.partition(" from ")[2]
        at = f"at {at}" if at else "of the words"
        reasons.append(f"the total variation {at} is only bounded by {worst.high:.3f}")
    if looked.unseen:
        depths = ", ".join(one.removeprefix("from depth ") for one in looked.unseen)
        reasons.append(
            f"no law is known for the words from depth {depths}"
            if looked.how == "depths"
            else "no law is known for the words of a completion"
        )
    if told.missing:
        reasons.append(told.missing)
    return f"A deviation was neither shown nor excluded: {'; '.join(reasons or ['the sample is not complete'])}."


def _named(settings: LawSettings, view: JudgedView) -> str:
    return view.words.replace(f"words of {settings.word_length} tokens", f"{settings.word_length}-token words")


def next_step(check_id: str, told: Told, evidence: Evidence) -> str:
    """Return the command or action to try next."""
    if told.verdict is Verdict.VIOLATES:
        return rerun(evidence.plan, check_id, new_samples=True)
    if told.verdict is Verdict.CONFORMS:
        return ""
    if told.choices != "independent":
        return "Ask for one completion per request: set choices = 1 under [checks.LAW1] of the suite"
    if not told.bounded:
        return "Raise max_completions in the suite, or lower top_k so that words have fewer cells"
    if only_characters(evidence):
        return with_option(evidence.plan, "--tokenizer", "FILE_OF_THE_MODELS_TOKENIZER")
    if evidence.plan.metrics is None:
        return with_option(evidence.plan, "--metrics", "URL_OF_THE_METRICS_PAGE")
    return "Is speculation on, and is the metrics page the subject's own?"


def assumptions(settings: LawSettings, looked: Looked) -> tuple[str, ...]:
    """Return what the verdict takes for granted."""
    common = (
        "the reference serves the same target, weights and tokenizer",
        "prompts, sampling parameters and load are like those of interest",
        "faults rarer than 3/n of the completions stay unseen",
    )
    scored = ("the reference's logprobs are those that it samples from", rounding(settings.rounding))
    classes = ("where tokens are put in classes, a deviation within a class stays unseen",)
    pooled = (
        "all words of a completion are bounded together: deviations that cancel over depths or contexts stay unseen by "
        "the bound, though not by the bets",
    )
    levels = {view.level for view in looked.views}
    return (
        common
        + (scored if "scored" in levels else ())
        + (classes if any("classes" in level for level in levels) else ())
        + (pooled if looked.how != "depths" else ())
    )
