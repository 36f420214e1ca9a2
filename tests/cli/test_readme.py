"""Every command line that README shows can be typed: the command exists, and so does each of its options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from specaudit.audit.suites import shipped
from specaudit.cli.main import COMMANDS, cli, load
from tests.cli.conftest import Specaudit

README = Path(__file__).parents[2] / "README.md"

_SEPARATORS = {"&", "&&", "|", "||", ";"}


def blocks(text: str) -> list[str]:
    """The code blocks, with lines that go on in the next one joined."""
    found = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [re.sub(r"\\\n\s*|\n\s+(?=--)", " ", block) for block in found]


def command_lines(text: str) -> Iterator[list[str]]:
    """The words behind each `specaudit` at which a command begins, be it a shell's or within YAML."""
    for block in blocks(text):
        for line in block.splitlines():
            if not re.match(r"\s*(- )?(run: )?(\w+ .*&& )?specaudit ", line):
                continue
            lexer = shlex.shlex(re.sub(r"^\s*(- )?(run: )?", "", line), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            commands: list[list[str]] = [[]]
            for word in lexer:
                commands.append([]) if word in _SEPARATORS else commands[-1].append(word)
            yield from (words[1:] for words in commands if words[:1] == ["specaudit"])


COMMAND_LINES = list(command_lines(README.read_text(encoding="utf-8")))


def parse(words: list[str]) -> click.Context:
    return load(words[0]).make_context(words[0], words[1:], parent=cli.make_context("specaudit", words[:1]))


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_a_documented_command_line_can_be_typed(words: list[str]) -> None:
    suite = parse(words).params.get("suite")
    assert suite is None or suite in shipped() or suite.endswith(".toml")


def test_all_are_found_wherever_they_stand() -> None:
    text = (
        "```sh\npip install . && specaudit run\nspecaudit serve --port 0 &   # a comment\nspecaudit run \\\n  -q\n```\n"
        "```yaml\n  - run: specaudit list suites\n    - specaudit analyze\n      --json DIR\n```\n"
        "```text\nspecaudit/x\n```"
    )
    assert list(command_lines(text)) == [
        ["run"],
        ["serve", "--port", "0"],
        ["run", "-q"],
        ["list", "suites"],
        ["analyze", "--json", "DIR"],
    ]
    assert len(COMMAND_LINES) >= 10
    assert sum("--report" in words for words in COMMAND_LINES) >= 2


@pytest.mark.parametrize("words", [["run", "--sute", "quick"], ["run", "--report", "junti=x"], ["report", "DIR"]])
def test_what_cannot_be_typed_is_noticed(words: list[str]) -> None:
    with pytest.raises(click.UsageError):
        parse(words)


def test_every_command_is_shown() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"specaudit {name}" not in text] == []


SHOWN = re.findall(r"<!-- specaudit (.*?) -->\n```text\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_what_is_shown_is_what_is_printed(specaudit: Specaudit, command: str, output: str) -> None:
    printed = specaudit(*command.removeprefix("specaudit ").split()).out.splitlines()
    shown = [line for line in output.splitlines() if line != "…"]
    assert [line for line in shown if line not in printed] == []


def test_the_suite_that_is_shown_passes_a_healthy_decoder(specaudit: Specaudit, tmp_path: Path) -> None:
    (suite,) = re.findall(r"^```toml\n(name = .*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(suite, encoding="utf-8")
    assert specaudit("run", "-q", "--suite", str(path)).code == 0
