"""What a violation prints, whichever family finds it: what was demanded, one sentence, size, witness, and commands."""

import json
import re
import shlex
import urllib.request
from pathlib import Path

import pytest

from specaudit.checks import registry
from specaudit.render.docstrings import paragraphs
from tests.cli.conftest import Specaudit
from tests.cli.servers import serving

SUITE = """
name = "violations"
title = "small, one check of each family"
alpha = 1e-2

[checks.GRD1]
hard_gap = 0.5
tolerance = 0.5
prompts = 8
max_tokens = 8

[checks.GRD3]
tolerance = 0.5
prompts = 16
max_tokens = 12

[checks.LAW1]
tolerance = 0.3
word_length = 2
choices = 16

[checks.SED1]
tolerance = 0.5
prompts = 16
max_tokens = 8

[checks.LGP1]
tolerance = 0.5
prompts = 8
max_tokens = 8

[checks.CTR4]
tolerance = 0.5
prompts = 8
max_tokens = 8
stops = 16
"""

FOUND = {
    "GRD1": "draft0-unverified",
    "GRD3": "min-tokens-ignored",
    "LAW1": "accept-raw-p",
    "SED1": "seed-ignored",
    "LGP1": "zero-logprobs",
    "CTR4": "rejected-tokens-billed",
}
"""A mutant of each family whose fault shows soon."""

WORLD = {"GRD1": "markov4", "GRD3": "cycle16"}
"""In which these are at home."""


def run(specaudit: Specaudit, tmp_path: Path, *options: str) -> str:
    """What an audit prints that violates, each paragraph in one line."""
    (tmp_path / "mine.toml").write_text(SUITE)
    ran = specaudit("run", "-q", "--suite", "mine.toml", *options)
    assert ran.code == 1, ran.out
    return ran.out


def in_lines(printed: str) -> str:
    return " ".join(printed.split())


@pytest.mark.parametrize("check", FOUND)
def test_every_part_of_a_violation_is_printed(specaudit: Specaudit, tmp_path: Path, check: str) -> None:
    printed = run(specaudit, tmp_path, "--engine", f"mutant:{FOUND[check]}", "--select", check, "--out", "out")
    said, title = in_lines(printed), registry.get(check).title
    assert f"Demanded: {paragraphs(check)['Requirement']}" in said, title
    assert re.search(rf"{check} violates [A-Z0-9][^.]+\.", said), said
    assert re.search(r"; 0.\d+ is tolerated|Bets against the target's law earned a factor of", said)
    assert re.search(r"(at least|at most|from) [0-9.]+|earned a factor of", said), said
    assert "Witness: " in said
    again = shlex.split(next(line for line in printed.splitlines() if "specaudit run" in line))
    assert again[again.index("--select") + 1] == check
    assert again[again.index("--suite") + 1] == "mine.toml"  # where it was read from, whatever it calls itself
    assert "Judge it again: specaudit analyze out" in said


@pytest.mark.parametrize("check", ["GRD1", "GRD3"])
def test_the_request_that_shows_it_by_itself_is_printed_as_curl_asks_it(
    specaudit: Specaudit, tmp_path: Path, check: str
) -> None:
    with serving(("--engine", f"mutant:{FOUND[check]}"), ("--draft-tokens", "0", "--world", WORLD[check])) as (
        subject,
        reference,
    ):
        arms = ("--endpoint", subject, "--reference", reference)
        printed = run(specaudit, tmp_path, *arms, "--select", check)
        words = shlex.split(next(line for line in printed.splitlines() if line.startswith("  curl ")))
        body = words[words.index("-d") + 1].encode()
        answers = []
        for address in (words[1], words[1].replace(subject, reference)):
            request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                answers.append(json.load(answer)["choices"][0]["text"])
    assert answers[0] != answers[1]
