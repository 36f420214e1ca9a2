import gzip
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.snapshots import Snapshot, no_snapshot, snapshot, snapshots_in
from specaudit.model.record import to_json

from .pages import vllm_page

PAGE = vllm_page(drafts=3)


def lines(*records: object) -> bytes:
    return b"\n".join(to_json(record) for record in records) + b"\n"


def test_a_page_by_itself() -> None:
    (plain,) = snapshots_in(PAGE.encode())
    assert plain.page == PAGE
    assert (plain.taken, plain.time, plain.source, plain.failure) == ("", None, "", None)
    assert snapshots_in(gzip.compress(PAGE.encode())) == [plain]


def test_a_recording_gives_back_what_was_recorded() -> None:
    headers = {"date": "Sun, 29 Nov 2026 18:00:00 GMT"}
    taken = snapshot(PAGE, source="http://x/metrics", content_type="text/plain", headers=headers)
    lost = no_snapshot("Nothing answers.", source="http://x/metrics")
    assert taken.time is not None
    assert snapshots_in(lines(taken, lost), source="run.jsonl") == [taken, lost]
    assert snapshots_in(gzip.compress(lines(taken, lost))) == [taken, lost]
    unnamed = msgspec.structs.replace(taken, source="")
    assert snapshots_in(lines(unnamed), source="run.jsonl")[0].source == "run.jsonl"


def test_evidence_gives_its_pages_alone() -> None:
    taken = snapshot(PAGE)
    entry = {
        "kind": "snapshot",
        "previous": "",
        "stage": "CTR",
        "block": 1,
        "quiet": True,
        **msgspec.to_builtins(taken),
    }
    body = lines({"kind": "plan", "plan": {}}, entry, {"kind": "attempt", "page": "no page"})
    assert snapshots_in(body) == [taken]
    (moving,) = snapshots_in(lines({**entry, "quiet": False}))
    assert moving.failure == "the counters were still moving when the page was read"


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        (lines(snapshot(PAGE)) + b'{"page": "vllm', "line 2 of the recording is no JSON object: it is cut off"),
        (lines(snapshot(PAGE), {"page": 3}), r"line 2 of the recording is no snapshot \(Expected `str`, got `int`"),
        (lines(snapshot(PAGE)).replace(b"drafts", b"dreams"), "in line 1 is not the one that was recorded"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_what_cannot_be_read_stands_in_place_of_a_page(body: bytes, failure: str) -> None:
    with pytest.raises(AssertionError, match=failure):
        raise AssertionError(snapshots_in(body)[-1].failure)


def test_json_that_is_no_recording_is_a_page_and_told_as_one() -> None:
    (found,) = snapshots_in(json.dumps({"object": "list", "data": []}).encode())
    assert found.failure is None
    assert found.page.startswith("{")


@pytest.mark.parametrize(
    ("taken", "known"), [("2026-11-29T18:00:00Z", True), ("2026-11-29T18:00:00", True), ("yesterday", False)]
)
def test_a_time_without_a_zone_is_utc(taken: str, known: bool) -> None:
    time = Snapshot(taken=taken).time
    assert (time is not None) == known
    assert time is None or time.utcoffset().total_seconds() == 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(body=st.binary(max_size=60) | st.builds(lambda text: b'{"page":' + text.encode(), st.text(max_size=30)))
def test_no_file_raises(body: bytes) -> None:
    assert all(isinstance(found, Snapshot) for found in snapshots_in(body))
