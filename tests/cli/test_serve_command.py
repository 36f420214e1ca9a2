import builtins
import socket

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Specaudit
from tests.cli.steady import steady


def test_a_port_that_is_taken(specaudit: Specaudit, snapshot: SnapshotAssertion) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = specaudit("serve", "--port", taken.getsockname()[1])
    assert ran.code == 3
    text = steady(ran).replace(str(ran.arguments[-1]), "<port>")
    assert text == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ["--engine", "mutant:reuse-unifrom"],
        ["--engine", "openai"],
        ["--port", "-1"],
        ["--ignore-temperature"],
        ["--cache", "all"],
    ],
)
def test_a_usage_error(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: list[str]) -> None:
    ran = specaudit("serve", *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_without_its_extra_it_says_what_to_install(
    specaudit: Specaudit, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: object, **options: object) -> object:
        if name == "specaudit.serve.server":
            raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
        return real(name, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    assert steady(specaudit("serve")) == snapshot
