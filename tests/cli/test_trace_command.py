import json

import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.decoding.lexemes import RENAMED
from tests.cli.conftest import Specaudit
from tests.cli.steady import steady

RENAME = ("--world", "code", "--drafter", "lookup", "--draft-tokens", 5, "--max-tokens", 60)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--temperature", 0, "--max-tokens", 6, "--prompt", "abc"),
        ("--drafter", "tree", "--draft-tokens", 10, "--seed", 3),
        ("--verifier", "block", "--top-p", 0.9, "--max-tokens", 9),
        ("--world", "transformer8", "--max-tokens", 9, "--top-k", 4),
        ("--draft-tokens", 0, "--max-tokens", 3, "--stop", "cb"),
        (*RENAME, "--min-match", 1, "--max-match", 1),
        (*RENAME, "--min-match", 2, "--max-match", 4),
        (*RENAME, "--min-match", 3),
        (*RENAME, "--stop", "value"),
        ("--json", "--max-tokens", 3),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)) or "nothing",
)
def test_trace(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    assert steady(specaudit("trace", *arguments)) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ("--drafter", "tre"),
        ("--min-match", 2),
        ("--world", "code", "--prompt", "import numpy"),
        ("--world", "code", "--min-match", 3, "--max-match", 2),
        ("--prompt", "abcde"),
        ("--temperature", -1),
        ("--drafter", "tree", "--verifier", "block"),
        ("--drafter", "tree", "--draft-tokens", 11),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_what_is_refused(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    ran = specaudit("trace", *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_an_unknown_world_is_refused_with_the_nearest(specaudit: Specaudit) -> None:
    ran = specaudit("trace", "--world", "markov")
    assert ran.code == 2
    assert "There is no world named 'markov'. Did you mean 'markov4'?" in ran.err


@pytest.mark.parametrize("match", [1, 2, 3])
def test_a_renaming_is_the_targets_however_it_is_drafted(specaudit: Specaudit, match: int) -> None:
    traced = json.loads(specaudit("trace", *RENAME, "--min-match", match, "--temperature", 0, "--json").out)
    texts, trace = traced["texts"], traced["trace"]
    assert "".join(texts[token] for token in trace["tokens"]) == RENAMED
    assert trace["finish"] == "eos"
    assert len(trace["steps"]) < 0.7 * len(trace["tokens"])
    assert [token for step in trace["steps"] for token in step["emitted"]] == trace["tokens"]
    for step in trace["steps"]:
        assert step["kept"] + step["rolled_back"] == step["computed"]
        assert sum(draft["verdict"] == "accepted" for draft in step["drafts"]) + (step["kind"] != "none") == len(
            step["emitted"]
        )
