"""The subject's tokens beside their laws, round by round."""

import numpy as np

from specaudit.checks.law3.requests import SAMPLE
from specaudit.checks.law3.scores import scored_rounds
from specaudit.checks.law3.settings import DepthSettings
from specaudit.model.entries import AttemptEntry
from specaudit.model.evidence import Evidence
from tests.checks.drive import drive, engine
from tests.checks.law3.test_check import CHECK

SETTINGS = DepthSettings(tolerance=0.4, max_tokens=12, least_completions=8, choices=4, blocks=2)


def known(parts):
    return [part.known for part in parts if part.known is not None]


def test_every_token_of_every_round_stands_beside_the_law_that_was_revealed():
    evidence = drive(CHECK, SETTINGS, engine(), reveal=True)
    parts = list(scored_rounds(SETTINGS, evidence, "exact", 0))
    assert [part.stage for part in parts] == evidence.parts(SAMPLE)
    drawn = evidence.draws(*evidence.parts(SAMPLE))["subject"]
    assert sum(len(part.depth) for part in known(parts)) == np.count_nonzero(drawn.tokens >= 0)
    assert not any(part.broken or part.unscored.size for part in parts)
    # Four tokens follow one of four, or none: a law each, in any round.
    assert all(len(part.laws.table.p) <= 5 for part in known(parts))


def test_what_bets_and_views_look_at_is_scored_once():
    evidence = drive(CHECK, SETTINGS, engine(), reveal=True)
    assert scored_rounds(SETTINGS, evidence, "exact", 0) is scored_rounds(SETTINGS, evidence, "exact", 0)
    assert scored_rounds(SETTINGS, evidence, "exact", 1) is not scored_rounds(SETTINGS, evidence, "exact", 0)


def test_uniforms_go_on_from_round_to_round():
    """A token's uniform is a function of the completion's number in the whole sample."""
    parts = known(scored_rounds(SETTINGS, drive(CHECK, SETTINGS, engine(), reveal=True), "exact", 0))
    uniforms = np.concatenate([part.completions.uniform for part in parts])
    assert len(np.unique(uniforms)) == len(uniforms)


def test_one_token_a_request_tells_the_law_at_the_places_that_were_chosen():
    evidence = drive(CHECK, SETTINGS, engine())
    single, exact = (
        list(scored_rounds(SETTINGS, one, how, 0))
        for one, how in ((evidence, "single"), (drive(CHECK, SETTINGS, engine(), reveal=True), "exact"))
    )
    assert {part.stage for part in single} == set(evidence.parts(SAMPLE))
    assert sum(len(part.depth) for part in known(single)) < sum(len(part.depth) for part in known(exact))
    laws = [tuple(np.sort(row).round(6)) for part in known(exact) for row in part.laws.table.p]
    told = {tuple(np.sort(row).round(6)) for part in known(single) for row in part.laws.table.p}
    assert told <= set(laws)


def test_a_lost_answer_leaves_its_tokens_without_a_law_and_breaks_the_round():
    whole = drive(CHECK, SETTINGS, engine(), reveal=True)
    first = whole.parts(SAMPLE)[0]
    gone = next(planned.request for planned in whole.stages[first].slots())
    kept = [one for one in whole.entries if not (isinstance(one, AttemptEntry) and (one.stage, one.slot) == (first, 0))]
    lost = [AttemptEntry(stage=first, slot=0, number=1, started="", seconds=0.0, failure=None, response=None)]
    parts = list(scored_rounds(SETTINGS, Evidence([*kept, *lost]), "exact", 0))
    assert parts[0].broken
    assert parts[0].unbroken == 0
    assert parts[0].unscored.tolist() == list(range(gone.max_tokens)) * gone.n
    assert not parts[1].broken
