"""The buyer with one endpoint: the subject as its own reference.

A first token comes from prefill and is never drafted, so that a request for one token behind a prefix yields the
endpoint's own undrafted law. It proves self-consistency, not that the target is the one that was promised.
"""

from specaudit.model.plan import Plan

SELF = "self"
"""What stands for the endpoint where an address of the reference is asked for."""

SELF_CONSISTENCY = (
    "the reference is the endpoint itself, asked for first tokens, which are never drafted: this shows that it is "
    "consistent with itself, not that the target is the one that was promised"
)

NO_COMPLETIONS = "The endpoint cannot be its own reference for whole completions, since it drafts them too."


def is_self(plan: Plan) -> bool:
    """Say whether the subject is its own reference."""
    subject, reference = plan.arm("subject"), plan.arm("reference")
    if subject is None or reference is None or subject.endpoint is None:
        return False
    return subject.endpoint.rstrip("/") == (reference.endpoint or "").rstrip("/")
