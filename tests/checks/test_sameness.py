import msgspec
import pytest

from specaudit.checks.sameness import prompts_differ
from specaudit.model.capabilities import Capabilities
from specaudit.model.completion import Completion, Response
from specaudit.model.entries import ProbeEntry
from specaudit.model.plan import Stage
from tests.model.builders import attempt, evidence, planned


def asked(*, ours=None, theirs=None, our_ids=None, their_ids=None, text="a", probed=((), ())):
    """Evidence of one prompt that both arms answered, and of the prompts in which they were probed."""

    def to(role):
        one = planned(role)
        return msgspec.structs.replace(one, request=msgspec.structs.replace(one.request, prompt=text))

    def told(count, ids):
        return Response(completions=(Completion(tokens=(1,)),), prompt_tokens=count, prompt_token_ids=ids)

    probes = [
        ProbeEntry(role=role, capabilities=Capabilities(engine="openai", prompt_tokens=counts))
        for role, counts in zip(("subject", "reference"), probed, strict=True)
    ]
    stage = Stage(name="GRD1", blocks=((to("reference"), to("subject")),))
    answers = [attempt("GRD1", 0, told(theirs, their_ids)), attempt("GRD1", 1, told(ours, our_ids))]
    return evidence(stage, answers, *probes)


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"ours": 5},
        {"ours": 5, "theirs": 5},
        {"ours": 5, "theirs": 5, "our_ids": (1, 2)},
        {"our_ids": (1, 2), "their_ids": (1, 2)},
        {"probed": ((4, 9), (4, 9))},
        {"probed": ((4, 9), ())},
        {"ours": 5, "theirs": 6, "text": (1, 2)},
    ],
)
def test_nothing_speaks_against_the_same_prompt(told):
    assert prompts_differ(asked(**told)) == ""


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"ours": 5, "theirs": 6}, "The subject finds 5 tokens in a prompt in which the reference finds 6: "),
        ({"probed": ((4, 9), (4, 8))}, "The subject finds 9 tokens in a prompt in which the reference finds 8: "),
        (
            {"ours": 2, "theirs": 2, "our_ids": (1, 2), "their_ids": (1, 3)},
            "The subject finds other tokens in a prompt in which the reference finds as many: ",
        ),
    ],
)
def test_another_prompt_is_told(told, said):
    assert prompts_differ(asked(**told)) == (
        f"{said}their chat templates or tokenizers differ, so they were not asked the same."
    )
