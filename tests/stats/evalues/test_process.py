"""The portfolio as a whole: its mean under the null, its power, and that cutting the evidence changes nothing."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.stats import alternatives
from specaudit.stats.evalues.contexts import Completions, ContextTable
from specaudit.stats.evalues.portfolio import Portfolio
from specaudit.stats.evalues.process import Process
from specaudit.stats.evalues.words import Words
from tests.stats.evalues.worlds import draw, table

LAWS = table(raw=True)
PORTFOLIO = Portfolio(LAWS, words=[np.full(6, 1 / 6), np.full(4, 0.25)], word_length=3)
SCORED = PORTFOLIO.score(LAWS)


def folded(completions, portfolio=None, scored=None):
    process = Process(portfolio or TOKENS)
    process.fold(scored or TOKENS_SCORED, completions)
    return process


TOKENS = Portfolio(LAWS)
TOKENS_SCORED = TOKENS.score(LAWS)


def part(completions, words, first, last):
    """Groups first … last-1, by hand."""
    ends = np.cumsum(completions.groups)
    rows = slice(ends[first] - completions.groups[first], ends[last - 1])
    tokens = np.concatenate([[0], np.cumsum(completions.lengths)])[[rows.start, rows.stop]]
    span = slice(*tokens)
    return (
        Completions(
            context=completions.context[span],
            cell=completions.cell[span],
            uniform=completions.uniform[span],
            lengths=completions.lengths[rows],
            lost=completions.lost[rows],
            groups=completions.groups[first:last],
        ),
        Words(stratum=words.stratum[rows], cell=words.cell[rows]),
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 29), max_size=5, unique=True))
def test_however_the_evidence_is_cut_the_results_are_the_same_to_the_last_bit(seed, cuts):
    rng = np.random.default_rng(seed)
    groups = rng.integers(1, 4, size=30)
    whole = draw(LAWS.p, rng, groups.sum(), 7, groups=groups, lost=rng.integers(0, 2, size=groups.sum()))
    stratum = rng.integers(0, 2, size=(groups.sum(), 2))
    words = Words(stratum=stratum, cell=rng.integers(-1, 4, size=stratum.shape))
    at_once, piecemeal = Process(PORTFOLIO), Process(PORTFOLIO)
    at_once.fold(SCORED, whole, words)
    for first, last in zip([0, *sorted(cuts)], [*sorted(cuts), 30], strict=True):
        piecemeal.fold(SCORED, *part(whole, words, first, last))
    np.testing.assert_array_equal(at_once.path, piecemeal.path)
    assert at_once.log_wealth == piecemeal.log_wealth
    assert at_once.value() == piecemeal.value()


def test_long_batches_are_folded_in_parts_with_the_same_result(monkeypatch):
    whole = draw(LAWS.p, np.random.default_rng(0), 100, 10)
    expected = folded(whole).path
    monkeypatch.setattr("specaudit.stats.evalues.process._SPAN", 64)
    np.testing.assert_array_equal(folded(whole).path, expected)


def expected_e(laws, subject, portfolio, points=64):
    """Mean of E after one completion of two tokens drawn from `subject`, by enumeration `[C, V]`-wise."""
    contexts, cells = laws.p.shape
    scored = portfolio.score(laws)
    total = 0.0
    for c, x, y in product(range(contexts), range(cells), range(cells)):
        if not (weight := subject[c, x] * subject[(c + 1) % contexts, y] / contexts):
            continue
        grid = (np.arange(points) + 0.5) / points
        tokens = np.tile([x, y], points)
        process_values = []
        for u, v in zip(grid, np.roll(grid, 17), strict=True):
            process = Process(portfolio)
            process.fold(
                scored,
                Completions(
                    context=np.array([c, (c + 1) % contexts]),
                    cell=tokens[:2],
                    uniform=np.array([u, v]),
                    lengths=np.array([2]),
                    lost=np.array([0]),
                    groups=np.array([1]),
                ),
            )
            process_values.append(np.exp(process.log_e))
        total += weight * np.mean(process_values)
    return total


def test_under_the_null_the_mean_is_one():
    laws = table(contexts=2, cells=3)
    assert expected_e(laws, laws.p, Portfolio(laws), points=2) == pytest.approx(1, abs=1e-9)


def test_within_the_band_the_mean_is_at_most_one():
    laws = table(contexts=2, cells=3)
    moved = laws.p * np.exp(np.where(laws.q > laws.p, 0.05, -0.05))
    moved /= moved.sum(axis=1, keepdims=True)
    assert expected_e(laws, moved, Portfolio(laws), points=2) > 1
    assert expected_e(laws, moved, Portfolio(laws, slack=0.1), points=2) <= 1


def test_bets_on_ranks_do_not_see_their_own_group():
    """The very first group is judged before anything was learnt, so no rank has earned anything yet."""
    first = folded(draw(LAWS.p, np.random.default_rng(0), 1, 50))
    assert [first.log_wealth[name] for name in TOKENS.ranks.names] == [0] * len(TOKENS.ranks.names)


def test_half_the_weight_is_agnostic():
    weights = np.exp(PORTFOLIO.log_weights)
    assert weights.sum() == pytest.approx(1)
    assert weights[: len(PORTFOLIO.dictionary.names)].sum() == pytest.approx(0.5)
    assert len(weights) == len(PORTFOLIO.names) == len(set(PORTFOLIO.names))


FAULTS = {
    "resid-from-target ×0.9": alternatives.residual_from_target(LAWS.p, LAWS.q),
    "lenience 0.8 ×0.9": alternatives.lenient(LAWS.p, LAWS.q, 0.8),
    "target-unwarped ×0.9": LAWS.raw,
    "p^1.1 ×0.97": alternatives.tempered(LAWS.p, 1.1),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_known_fault_is_rejected_and_named(name):
    process = folded(draw(FAULTS[name], np.random.default_rng(1), 2000, 10))
    assert process.rejected_at(1e-3) is not None
    assert process.value().leader == name
    assert process.tokens == 20_000


def test_an_unknown_fault_is_found_by_its_ranks():
    """Mass that wanders from the least likely tokens to the middle ones is in no dictionary."""
    rng = np.random.default_rng(0)
    laws = table(seed=5, contexts=200, cells=32)
    order = np.argsort(-laws.p, axis=1)
    ranked = np.take_along_axis(laws.p, order, axis=1)
    place = ranked.cumsum(axis=1) - ranked / 2
    bump = ranked * (1 + 0.4 * np.sin(6 * np.pi * place))
    faulty = np.empty_like(bump)
    np.put_along_axis(faulty, order, bump / bump.sum(axis=1, keepdims=True), axis=1)
    portfolio = Portfolio(laws)
    process = folded(draw(faulty, rng, 1000, 10), portfolio, portfolio.score(laws))
    assert process.rejected_at(1e-3) is not None
    assert process.value().leader.startswith("order by p,")


AUDITS, MOST_ALARMS = 2000, 131


@pytest.mark.parametrize("kind", ["drafter", "slack", "edge"])
def test_false_alarms(kind):
    """2,000 audits under the null at a level of .05: more than 131 alarms have a probability below 1e-3."""
    edge = np.zeros(LAWS.p.shape, dtype=bool)
    edge[:, 4:] = True
    laws = {
        "drafter": LAWS,
        "slack": LAWS,
        "edge": ContextTable(p=LAWS.p, q=LAWS.q, edge=edge),
    }[kind]
    subject = laws.p
    if kind == "slack":
        subject = subject * np.exp(np.where(LAWS.q > LAWS.p, 0.05, -0.05))
        subject /= subject.sum(axis=1, keepdims=True)
    elif kind == "edge":
        subject = subject * np.where(edge, 0.3, 1)
        subject /= subject.sum(axis=1, keepdims=True)
    portfolio = Portfolio(laws, slack=0.1 if kind == "slack" else 0.0)
    scored = portfolio.score(laws)
    rng = np.random.default_rng(2)
    alarms = sum(
        folded(draw(subject, rng, 30, 6), portfolio, scored).rejected_at(0.05) is not None for _ in range(AUDITS)
    )
    assert alarms <= MOST_ALARMS


@pytest.mark.parametrize("copies", [2, 4])
def test_identical_choices_are_no_evidence_if_averaged(copies):
    """Each request answers with copies of one completion of the exact law."""
    rng = np.random.default_rng(3)
    alarms = {"averaged": 0, "multiplied": 0}
    for _ in range(300):
        single = draw(LAWS.p, rng, 40, 8)
        index = np.repeat(np.arange(40), copies)
        tokens = (index[:, None] * 8 + np.arange(8)).ravel()
        for kind, groups in (("averaged", [copies] * 40), ("multiplied", [1] * 40 * copies)):
            process = folded(
                Completions(
                    context=single.context[tokens],
                    cell=single.cell[tokens],
                    uniform=single.uniform[tokens],
                    lengths=np.full(40 * copies, 8),
                    lost=np.zeros(40 * copies, dtype=int),
                    groups=np.array(groups),
                )
            )
            alarms[kind] += process.rejected_at(0.05) is not None
    assert alarms["averaged"] <= 28
    assert alarms["multiplied"] > 60


def test_losing_what_speaks_against_the_alternatives_gains_nothing():
    """A subject that hides every completion in which likely tokens came up is not accused for it."""
    rng = np.random.default_rng(4)
    alarms = {"charged": 0, "ignored": 0}
    for _ in range(300):
        whole = draw(LAWS.p, rng, 150, 2)
        tokens = np.arange(300).reshape(150, 2)
        likely = (LAWS.p[whole.context, whole.cell].reshape(150, 2) > 0.25).any(axis=1)
        kept = tokens[~likely].ravel()
        for kind in alarms:
            cost = np.where(likely, 2 if kind == "charged" else 0, 0)
            process = folded(
                Completions(
                    context=whole.context[kept],
                    cell=whole.cell[kept],
                    uniform=whole.uniform[kept],
                    lengths=np.where(likely, 0, 2),
                    lost=cost,
                    groups=whole.groups,
                )
            )
            alarms[kind] += process.rejected_at(0.05) is not None
    assert alarms["charged"] <= 28
    assert alarms["ignored"] > 250


def one_token(context, cell, laws, **options):
    portfolio = Portfolio(laws, **options)
    process = Process(portfolio)
    single = np.ones(1, dtype=int)
    process.fold(
        portfolio.score(laws),
        Completions(
            context=single * context,
            cell=single * cell,
            uniform=np.zeros(1),
            lengths=single,
            lost=single - 1,
            groups=single,
        ),
    )
    return process


@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_a_token_that_p_forbids_is_infinite_evidence_and_stays(slack):
    laws = ContextTable(p=[[0.6, 0.4, 0.0]], q=[[0.3, 0.3, 0.4]], raw=[[0.5, 0.3, 0.2]])
    process = one_token(0, 2, laws, slack=slack)
    assert (process.log_e, process.impossible, process.value().p_value) == (np.inf, 1, 0)
    assert process.rejected_at(1e-9) == 1
    process.fold(Portfolio(laws, slack=slack).score(laws), draw(laws.p, np.random.default_rng(0), 5, 3))
    assert np.isposinf(process.path[1:]).all()


@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_unless_it_is_in_the_edge_cell(slack):
    edge = np.array([[False, False, True]])
    process = one_token(0, 2, ContextTable(p=[[0.6, 0.4, 0.0]], q=[[0.3, 0.3, 0.4]], edge=edge), slack=slack)
    assert (process.log_e, process.impossible) == (pytest.approx(0, abs=1e-12), 0)


@pytest.mark.parametrize("slack", [0.0, 0.2])
def test_a_token_of_hardly_any_probability_is_strong_evidence_but_not_infinite(slack):
    least = 5e-324
    laws = ContextTable(p=[[1 - 1e-9, 1e-9, least]], q=[[0.5, 0.5, least]], raw=[[0.4, 0.3, 0.3]])
    assert 100 < one_token(0, 2, laws, slack=slack).log_e < 1000
    assert np.isfinite(one_token(0, 0, laws, slack=slack).log_e)


def test_a_context_with_one_cell_tells_nothing():
    assert one_token(0, 0, ContextTable(p=[[1.0]], q=[[1.0]])).log_e == pytest.approx(0, abs=1e-12)


def test_a_table_of_other_laws_is_refused():
    with pytest.raises(ValueError, match=re.escape("bets on the laws ('p', 'q', 'raw'), the table holds ('p', 'q')")):
        TOKENS.score(ContextTable(p=LAWS.p, q=LAWS.q))


@pytest.mark.parametrize("slack", [-0.1, np.inf, np.nan])
def test_slack_is_a_number(slack):
    with pytest.raises(ValueError, match="finite and not negative"):
        Portfolio(LAWS, slack=slack)


def test_tokens_outside_the_table_are_refused():
    batch = draw(LAWS.p, np.random.default_rng(0), 2, 3)
    for name, size in (("context", 12), ("cell", 6)):
        for value in (-1, size):
            getattr(batch, name)[0], before = value, getattr(batch, name)[0]
            with pytest.raises(ValueError, match=f"a {name} is outside 0 … {size - 1}"):
                folded(batch)
            getattr(batch, name)[0] = before


def test_words_are_given_if_and_only_if_they_are_bet_on():
    batch = draw(LAWS.p, np.random.default_rng(0), 2, 3)
    words = Words(stratum=np.zeros((2, 1), dtype=int), cell=np.zeros((2, 1), dtype=int))
    with pytest.raises(ValueError, match="if, and only if"):
        Process(PORTFOLIO).fold(SCORED, batch)
    with pytest.raises(ValueError, match="if, and only if"):
        Process(TOKENS).fold(TOKENS_SCORED, batch, words)
