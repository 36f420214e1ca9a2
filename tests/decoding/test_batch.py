import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specaudit.decoding.batch import PersistentBatch
from specaudit.decoding.intake import new_rows
from specaudit.decoding.parameters import TO_THE_END, UNFILTERED
from specaudit.decoding.rules import RuleTable
from specaudit.decoding.streams import Domain, RowStreams

from .strategies import steady


def rows(first, count, width=3):
    table = RuleTable(9)
    streams = [RowStreams(first + np.arange(count), domain) for domain in Domain]
    return new_rows(
        submission=first,
        prompts=np.full((count, width), 1),
        prompt_lengths=np.full(count, width),
        caps=np.full(count, 4),
        rules=table.rules(np.full(count, table.number(UNFILTERED, TO_THE_END))),
        draft_tokens=3,
        draft_limit=3,
        drafting=streams[0],
        judging=streams[1],
    )


def marked(batch):
    """Give every column of a row a value of its own, then read them back: (arrival, the other columns) of each row."""
    read = batch.rows
    return [
        (int(arrival), int(tokens[0]), float(feature[0]), float(uniform[0]))
        for arrival, tokens, feature, uniform in zip(
            read.arrival, read.tokens, read.features, read.judging.rows(slice(None)).random((len(read), 1)), strict=True
        )
    ]


@steady
@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(0, 20))), max_size=8))
def test_a_row_takes_all_of_its_own_along(history):
    batch, expected, arrived = PersistentBatch(), {}, 0
    for coming, leaving in history:
        if coming:
            new = rows(arrived, coming, width=1 + arrived % 3)
            new.tokens[:, 0] = new.arrival % 7
            new.features = new.arrival[:, None] / 8
            batch.append(new)
            for arrival in range(arrived, arrived + coming):
                uniform = RowStreams(np.array([arrival]), Domain.VERIFIER).random((1, 1))[0, 0]
                expected[arrival] = (arrival, arrival % 7, arrival / 8, uniform)
            arrived += coming
        gone = np.array(sorted(row for row in leaving if row < len(batch)), dtype=int)
        if len(batch):
            before = batch.rows.arrival.copy()
            moved = batch.condense(gone)
            assert (moved[gone] == -1).all()
            for row in set(range(len(before))) - set(gone.tolist()):
                assert batch.rows.arrival[moved[row]] == before[row]
            for arrival in before[gone]:
                del expected[arrival]
        assert len(batch) == len(expected)
        if len(batch):
            assert sorted(marked(batch)) == sorted(expected.values())


def test_only_the_last_rows_move():
    batch = PersistentBatch()
    batch.append(rows(0, 6))
    assert batch.condense(np.array([1, 4])).tolist() == [0, -1, 2, 3, -1, 1]
    assert batch.rows.arrival.tolist() == [0, 5, 2, 3]


def test_an_emptied_batch_starts_anew():
    batch = PersistentBatch()
    batch.append(rows(0, 2))
    batch.condense(np.arange(2))
    assert len(batch) == 0
    batch.append(rows(2, 1, width=5))
    assert batch.rows.tokens.shape == (1, 6)
