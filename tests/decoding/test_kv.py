import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from specaudit.decoding.kv import PagedCache

LAYERS, HEADS, WIDTH, PAGE = 2, 1, 2, 4


def small(slots=3, tokens=40, page=PAGE):
    return PagedCache(slots, layers=LAYERS, heads=HEADS, width=WIDTH, tokens=tokens, page=page)


def append(cache, slots, count, value):
    """Open and write `count` entries whose numbers count up from `value`."""
    cache.extend(slots, count)
    numbers = np.asarray(value)[:, None] + np.arange(max(count))
    for layer in range(LAYERS):
        entries = (numbers + 1000 * layer)[..., None, None] + np.zeros((HEADS, WIDTH))
        cache.write(layer, slots, entries, -entries)


def stored(cache, slot, size, layer=1):
    """Numbers of the first entries of a slot."""
    keys, values = cache.read(layer, np.array([slot]), -(-size // cache.page))
    assert (keys == -values).all()
    return (keys.swapaxes(2, 3).reshape(-1, HEADS, WIDTH)[:size, 0, 0] - 1000 * layer).tolist()


def test_pages_are_handed_out_and_given_back():
    cache, slots = small(tokens=20), np.array([0, 2])
    assert cache.free_pages == 5
    assert cache.reserve(slots, np.array([4, 5])).tolist() == [True, True]
    assert cache.free_pages == 2
    assert cache.reserve(slots, np.array([4, 8])).tolist() == [True, True], "room that is already there costs nothing"
    cache.release(np.array([2]))
    assert cache.free_pages == 4


def test_first_come_is_first_served_when_pages_run_out():
    cache = small(tokens=16)
    assert cache.reserve(np.array([0]), np.array([8])).all()
    asked = cache.reserve(np.array([1, 2, 0]), np.array([12, 1, 8]))
    assert asked.tolist() == [False, False, True], "the short request does not overtake; held room is still there"
    assert cache.free_pages == 2
    assert cache.reserve(np.array([2, 1]), np.array([1, 12])).tolist() == [True, False]
    with pytest.raises(ValueError, match="no room for 12 more tokens in slot 1"):
        cache.extend(np.array([1]), np.array([12]))
    cache.release(np.array([0]))
    assert cache.reserve(np.array([1]), np.array([12])).all()


def test_rejected_entries_are_overwritten():
    cache, slot = small(), np.array([1])
    append(cache, slot, np.array([6]), [100])
    cache.commit(slot, np.array([[0, 1, 2, 3, 4, 5]]))
    append(cache, slot, np.array([4]), [200])
    cache.commit(slot, np.array([[0, -1]]))
    assert cache.lengths.tolist() == [0, 7, 0]
    append(cache, slot, np.array([2]), [300])
    assert stored(cache, 1, 9) == [100, 101, 102, 103, 104, 105, 200, 300, 301]


def test_what_is_not_committed_is_gone():
    cache, slot = small(), np.array([0])
    append(cache, slot, np.array([3]), [100])
    append(cache, slot, np.array([1]), [200])
    assert cache.lengths[0] == 0
    with pytest.raises(ValueError, match=r"slot 0 cannot keep tokens \[0, 1\]: 1 are pending"):
        cache.commit(slot, np.array([[0, 1]]))


def test_the_path_of_a_tree_moves_together_across_pages():
    cache, slots = small(), np.array([2, 0])
    append(cache, slots, np.array([3, 2]), [100, 200])
    cache.commit(slots, np.array([[0, 1, 2], [0, 1, -1]]))
    append(cache, slots, np.array([8, 8]), [300, 400])
    cache.commit(slots, np.array([[0, 2, 5, 7], [0, 4, -1, -1]]))
    assert cache.lengths.tolist() == [4, 0, 7]
    assert stored(cache, 2, 7, layer=0) == stored(cache, 2, 7) == [100, 101, 102, 300, 302, 305, 307]
    assert stored(cache, 0, 4) == [200, 201, 400, 404]


def test_padding_touches_no_slot():
    cache, slots = small(), np.array([0, 1])
    append(cache, slots, np.array([4, 1]), [100, 200])
    cache.commit(slots, np.array([[0, 1, 2, 3], [0, -1, -1, -1]]))
    append(cache, slots, np.array([1, 9]), [300, 400])
    assert stored(cache, 0, 5) == [100, 101, 102, 103, 300]
    assert stored(cache, 1, 10) == [200, *range(400, 409)]


def test_padding_of_a_released_slot_spares_who_has_its_pages_now():
    cache, first, second = small(tokens=8), np.array([0]), np.array([1])
    append(cache, first, np.array([8]), [100])
    cache.release(first)
    append(cache, second, np.array([4]), [200])
    append(cache, np.array([0, 1]), np.array([1, 4]), [300, 200])
    assert stored(cache, 1, 4) == [200, 201, 202, 203]


def test_a_pass_is_committed_once():
    cache, slot = small(), np.array([0])
    append(cache, slot, np.array([3]), [100])
    cache.commit(slot, np.array([[0, 1]]))
    with pytest.raises(ValueError, match="0 are pending"):
        cache.commit(slot, np.array([[0]]))


def test_a_pool_without_a_limit_grows_and_keeps_what_it_holds():
    cache = small(tokens=None)
    append(cache, np.array([0]), np.array([3]), [100])
    cache.commit(np.array([0]), np.array([[0, 1, 2]]))
    append(cache, np.array([1, 0]), np.array([70, 50]), [200, 400])
    cache.commit(np.array([1, 0]), np.array([np.arange(70), np.r_[np.arange(50), np.full(20, -1)]]))
    assert stored(cache, 0, 53) == [100, 101, 102, *range(400, 450)]
    assert stored(cache, 1, 70) == [*range(200, 270)]


@pytest.mark.parametrize("size", ["slots", "tokens", "page"])
def test_sizes_below_one_are_refused(size):
    with pytest.raises(ValueError, match="sizes of at least 1, got 0"):
        small(**{size: 0})


class Machine(RuleBasedStateMachine):
    """Any order of passes, commits and releases, against a plain list per slot."""

    slot = st.integers(0, 2)

    def __init__(self):
        super().__init__()
        self.cache = small()
        self.kept: list[list[int]] = [[], [], []]
        self.pending: list[list[int]] = [[], [], []]
        self.next = 0

    def room(self, slot, tokens):
        pages = [-(-len(k) // PAGE) for k in self.kept]
        return self.cache.free_pages * PAGE + pages[slot] * PAGE - len(self.kept[slot]) >= tokens

    @rule(slot=slot, count=st.integers(1, 9))
    def read(self, slot, count):
        if not self.room(slot, count):
            return
        append(self.cache, np.array([slot]), np.array([count]), [self.next])
        self.pending[slot] = list(range(self.next, self.next + count))
        self.next += count

    @rule(slot=slot, choice=st.sets(st.integers(0, 8)))
    def commit(self, slot, choice):
        path = [i for i in sorted(choice) if i < len(self.pending[slot])]
        self.cache.commit(np.array([slot]), np.array([[*path, -1]]))
        self.kept[slot] += [self.pending[slot][i] for i in path]
        self.pending[slot] = []

    @rule(slot=slot)
    @precondition(lambda self: any(self.kept))
    def release(self, slot):
        self.cache.release(np.array([slot]))
        self.kept[slot], self.pending[slot] = [], []

    @invariant()
    def holds_what_was_kept(self):
        assert self.cache.lengths.tolist() == [len(kept) for kept in self.kept]
        for slot, (kept, pending) in enumerate(zip(self.kept, self.pending, strict=True)):
            if kept or pending:
                assert stored(self.cache, slot, len(kept + pending)) == kept + pending


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
