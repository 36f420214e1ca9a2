import pytest
from hypothesis import given
from hypothesis import strategies as st

from specaudit.audit.shards import WHOLE, Shard
from specaudit.model.errors import UsageError
from specaudit.model.plan import Stage
from tests.audit.small import made_stage, planned


@given(st.integers(1, 5), st.lists(st.integers(0, 7), min_size=1, max_size=3))
def test_every_request_is_one_shards(of, blocks):
    stage = made_stage(blocks)
    parts = [Shard(number, of).slots(stage) for number in range(1, of + 1)]
    assert sorted(slot for part in parts for slot in part) == list(range(stage.size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_each_has_its_share_of_both_arms():
    arms = ["subject", "reference"] * 4
    stage = Stage(name="T1", blocks=(tuple(planned(slot, arm) for slot, arm in enumerate(arms)),))
    assert Shard(1, 2).slots(stage) == {0, 1, 4, 5}
    assert Shard(2, 2).slots(stage) == {2, 3, 6, 7}


def test_while_counters_are_read_nobody_else_asks():
    stage = made_stage([3, 3], name="CTR.traffic", scrape=True)
    shards = [Shard(number, 3) for number in (1, 2, 3)]
    assert [len(shard.slots(stage)) for shard in shards] == [6, 0, 0]
    assert all(shard.reads(stage) for shard in shards)


def test_counters_of_other_stages_are_read_by_who_asks_alone():
    stage = made_stage([3, 3], name="LAW1.sample.0", scrape=True)
    assert [len(Shard(number, 3).slots(stage)) for number in (1, 2, 3)] == [2, 2, 2]
    assert [shard.reads(stage) for shard in (Shard(1, 3), WHOLE)] == [False, True]
    assert not WHOLE.reads(made_stage([3], name="CTR.traffic"))


@pytest.mark.parametrize("text", ["1/1", "2/3", "10/10"])
def test_a_shard_is_told_as_it_is_read(text):
    assert str(Shard.parse(text)) == text


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/2/3", "-1/2", "１/２", "1/"])
def test_what_is_none_is_refused(text):
    with pytest.raises(UsageError, match="is no shard"):
        Shard.parse(text)


def test_all_of_it_is_a_shard_too():
    stage = made_stage([4])
    assert WHOLE.slots(stage) == set(range(4))
