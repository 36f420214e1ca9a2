"""What to ask whoever made a claim: what it leaves out, in an order that settles most first."""

from collections.abc import Iterator

from specaudit.model.claim import Claim

_ASKED = {
    "baseline": "What is the speed-up over: which engine, tuned by whom, and how many tokens/s does it give?",
    "batch": "How many requests ran at once, and is the figure one user's or that of all together?",
    "model": "Which model is it, by its exact name?",
    "hardware": "On which devices?",
    "devices": "On how many devices, the drafter's counted?",
    "precision": "In which precision are weights and cache, and is the baseline in the same?",
    "draft_tokens": "How many drafts does a step have, and does their number change with load?",
    "drafter": "What drafts, and was it trained on prompts like those of the test?",
    "data_set": "Which prompts were used, and had the service seen them before?",
    "temperature": "At which temperature and with which filters?",
    "context": "How long were prompts and completions?",
}


def questions(claim: Claim) -> tuple[str, ...]:
    """Return the questions that the claim leaves open."""
    return tuple(_questions(claim))


def _questions(claim: Claim) -> Iterator[str]:
    numbers, conditions = claim.numbers, claim.conditions
    speed = numbers.speed_up is not None or numbers.tokens_per_second is not None
    for name, question in _ASKED.items():
        if name == "baseline" and numbers.speed_up is None:
            continue
        if speed and getattr(conditions, name) is None:
            yield question
    if numbers.acceptance_rate is None and numbers.acceptance_length is None:
        yield "How many tokens does a step emit in the mean, and how many drafts of those proposed are accepted?"
    if numbers.lossless is None:
        yield "Is the output distributed as the target's, above temperature 0 too, and by which rule is it verified?"
    elif numbers.lossless:
        yield "By which rule are drafts verified, and does an option relax it, such as typical acceptance or lenience?"
