"""Results of tasks on disk, written as they come, so that a calibration that was broken off goes on where it was."""

import hashlib
from functools import cache
from pathlib import Path

import msgspec

from specaudit.model.calibration import Result
from specaudit.model.errors import SpecauditError
from specaudit.model.record import Record, from_json, to_json

_FILE = "results.jsonl"
_PACKAGE = Path(__file__).parents[1]


class StoredResult(Record, frozen=True, kw_only=True):
    """A line of the file."""

    key: str
    result: Result


class Store:
    """The results in a folder, or in memory only.

    Args:
        folder: Made if need be; None keeps nothing.

    Raises:
        SpecauditError: the folder cannot be read or written.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / _FILE
        self._known: dict[str, Result] = {}
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._known = _read(self._path)
            except OSError as error:
                raise SpecauditError(
                    f"Results cannot be kept in {folder} ({error.strerror}).", hint="specaudit calibrate --out DIR"
                ) from error

    def get(self, key: str) -> Result | None:
        """Return the result of a task, if there is one."""
        return self._known.get(key)

    def put(self, key: str, result: Result) -> None:
        """Keep a result.

        Raises:
            SpecauditError: the disk does not take it.
        """
        self._known[key] = result
        if self._path is None:
            return
        try:
            with self._path.open("ab") as file:
                file.write(to_json(StoredResult(key=key, result=result)) + b"\n")
        except OSError as error:
            raise SpecauditError(
                f"{self._path} could not be written ({error.strerror}); what is in it is kept.",
                hint=f"specaudit calibrate --out {self._path.parent}",
            ) from error


def key_of(task: Record) -> str:
    """Return what a result is found by: a digest of the task and of the code that carries it out."""
    return hashlib.sha256(to_json((code_digest(), task))).hexdigest()


@cache
def code_digest(folder: Path = _PACKAGE) -> str:
    """Return a digest of all modules of this package: results of other code are none."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, Result]:
    """Read what is whole, and cut off a last line that is not: whoever wrote it was killed."""
    if not path.exists():
        return {}
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        path.write_bytes(whole)
    try:
        lines = [from_json(line, StoredResult) for line in whole.splitlines()]
    except msgspec.DecodeError as error:
        raise SpecauditError(
            f"{path} holds no results of a calibration: {error}.", hint="specaudit calibrate --out ANOTHER_DIR"
        ) from error
    return {line.key: line.result for line in lines}
