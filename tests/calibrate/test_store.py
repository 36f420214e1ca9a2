"""Results survive whoever wrote them, and results of another task or other code are none."""

import pytest

from specaudit.calibrate import store
from specaudit.calibrate.nulls.registry import AlarmTask
from specaudit.calibrate.store import Store, code_digest, key_of
from specaudit.model.calibration import Alarms, Kill
from specaudit.model.errors import SpecauditError

ALARMS = Alarms(method="m", level=0.05, audits=2, wrong=0, p_values=(0.25, 1.0))
KILL = Kill(
    subject="mutant:m", family="rule", check="LAW1", level="exact", verdict="violates", tokens=3, told="é \u2028 told"
)
TASK = AlarmTask(method="m", level=0.05, audits=1, seed=0, stream=0)


def test_results_are_found_again(tmp_path):
    first = Store(tmp_path / "new" / "folder")
    first.put("a", ALARMS)
    first.put("b", KILL)
    again = Store(tmp_path / "new" / "folder")
    assert (again.get("a"), again.get("b"), again.get("c")) == (ALARMS, KILL, None)


def test_without_a_folder_they_are_kept_in_memory_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory = Store(None)
    memory.put("a", ALARMS)
    assert memory.get("a") == ALARMS
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("lost", [1, 10])
def test_a_last_line_that_was_cut_off_is_forgotten(tmp_path, lost):
    first = Store(tmp_path)
    first.put("a", ALARMS)
    first.put("b", KILL)
    file = tmp_path / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-lost])
    again = Store(tmp_path)
    assert (again.get("a"), again.get("b")) == (ALARMS, None)
    again.put("c", KILL)
    assert Store(tmp_path).get("c") == KILL


def test_another_file_is_refused(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"key": 1}\n')
    with pytest.raises(SpecauditError, match="holds no results of a calibration"):
        Store(tmp_path)


def test_a_folder_that_is_none_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SpecauditError, match="Results cannot be kept in"):
        Store(tmp_path / "file")


def test_a_key_tells_tasks_and_code_apart(monkeypatch):
    other = AlarmTask(method="m", level=0.05, audits=1, seed=1, stream=0)
    key = key_of(TASK)
    assert key == key_of(TASK) != key_of(other)
    monkeypatch.setattr(store, "code_digest", lambda: "other code")
    assert key_of(TASK) != key


def test_the_digest_is_that_of_the_whole_package(tmp_path):
    file = tmp_path / "folder" / "a.py"
    file.parent.mkdir()
    digests = []
    for text in ("1", "2"):
        file.write_text(text)
        code_digest.cache_clear()
        digests.append(code_digest(tmp_path))
    assert digests[0] != digests[1]
    assert (store._PACKAGE / "calibrate" / "store.py").exists()
