from pathlib import Path

import pytest

from specaudit.audit.alike import retokenized, tell_alike
from specaudit.audit.record import Recorder
from specaudit.model.capabilities import Capabilities
from specaudit.model.entries import PlanEntry, ProbeEntry
from specaudit.model.record import digest
from tests.audit.small import made_plan

IDS = Capabilities(
    engine="openai",
    tokens="ids",
    token_prompts=True,
    logprobs=20,
    logprobs_mode="raw",
    scores_prompts=True,
    segments=False,
)
TEXT = Capabilities(engine="openai", tokens="retokenized", tokenizer="abc")
READ = Capabilities(engine="openai", tokens="retokenized")


class Readable:
    """An engine whose text can be divided."""

    def __init__(self) -> None:
        self.retokenizes = False

    def retokenize(self) -> None:
        self.retokenizes = True


@pytest.mark.parametrize(
    ("subject", "reference", "told"),
    [(TEXT, IDS, [False, True]), (IDS, TEXT, [True, False]), (TEXT, TEXT, [False, False]), (IDS, IDS, [False, False])],
)
def test_where_one_arm_tells_text_only_the_other_is_read_alike(
    tmp_path: Path, subject: Capabilities, reference: Capabilities, told: list[bool]
) -> None:
    plan = made_plan()
    engines = {"subject": Readable(), "reference": Readable()}
    with Recorder(tmp_path) as recorder:
        recorder.append(PlanEntry(plan=plan, digest=digest(plan)))
        recorder.append(ProbeEntry(role="subject", capabilities=subject))
        recorder.append(ProbeEntry(role="reference", capabilities=reference))
        tell_alike(engines, recorder)  # type: ignore[arg-type]
        found = recorder.evidence().capabilities
    assert [engine.retokenizes for engine in engines.values()] == told
    assert [found[role].tokens for role in ("subject", "reference")] == (
        ["ids", "ids"] if subject == reference == IDS else ["retokenized", "retokenized"]
    )


def test_the_law_of_other_tokens_is_of_no_use() -> None:
    assert retokenized(IDS) == READ
    assert retokenized(TEXT) == TEXT
