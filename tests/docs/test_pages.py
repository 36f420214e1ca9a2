"""Everything there is is documented, and every documented command can be typed and runs.

The lists come from the registries: what is added is documented by the pages that are made from it, or fails here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from docs.generate import EXIT_CODES, commands, pages
from specaudit.audit.run import run_audit
from specaudit.audit.suites import shipped
from specaudit.checks import registry as checks
from specaudit.cli import list_command, schema_command
from specaudit.cli.compare_command import FORMATS as COMPARED
from specaudit.cli.main import COMMANDS, cli, load
from specaudit.model.finding import Verdict
from specaudit.mutants import registry as mutants
from specaudit.render.registry import FORMATS
from tests.audit.small import SMALL, small_audit
from tests.cli.conftest import Specaudit, a_bare_place, specaudit
from tests.cli.test_readme import README, command_lines

__all__ = ["a_bare_place", "specaudit"]  # fixtures

DOCS = Path(__file__).parents[2] / "docs"
MADE = pages(costs=False)
WRITTEN = {path.name: path.read_text(encoding="utf-8") for path in (*sorted(DOCS.glob("*.md")), README)}
ALL = "\n".join([*MADE.values(), *WRITTEN.values()])

EVERY_COMMAND = [found for name in COMMANDS for found in commands(load(name), (name,))]


@pytest.mark.parametrize(("path", "command"), EVERY_COMMAND, ids=[" ".join(path) for path, _ in EVERY_COMMAND])
def test_every_command_and_flag_is_documented(path: tuple[str, ...], command: click.Command) -> None:
    page = MADE[f"commands/{path[0]}.md"]
    assert f"Usage: specaudit {' '.join(path)} " in page
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert all(name in page for name in (*option.opts, *option.secondary_opts)), option.name


def test_every_check_is_documented_by_its_parts_and_settings() -> None:
    for check_id in checks.locations():
        page = MADE[f"checks/{check_id}.md"]
        for head in ("What it demands", "Assumptions", "What it kills", "Source", "Settings", "Cost"):
            assert f"## {head}" in page, check_id
        assert "## Statistic" in page or "## Method" in page
        for name in checks.get(check_id).settings_type.__struct_fields__:
            assert f"| `{name}` |" in page, check_id
        assert f"| {check_id} |" in WRITTEN["README.md"], f"README's table lacks {check_id}"


def test_every_suite_mutant_and_control_is_documented() -> None:
    assert all(f"## {name}\n" in MADE["suites.md"] for name in shipped())
    assert all(f"`{name}`" in MADE["mutants.md"] for name in (*mutants.names(), *mutants.controls()))


def test_every_exit_code_is_documented() -> None:
    from specaudit.model import report

    codes = {value for name, value in vars(report).items() if name.startswith("EXIT_")}
    assert codes == set(EXIT_CODES)
    for code in codes:
        assert re.search(rf"^\| {code} \|", MADE["exit-codes.md"], re.MULTILINE)
        assert re.search(rf"^\| [^|]*\b{code}\b[^|]* \|", WRITTEN["README.md"], re.MULTILINE)


def test_every_format_verdict_and_kind_is_documented() -> None:
    assert all(f"`{name}`" in WRITTEN["reports.md"] for name in FORMATS)
    assert all(f"| `{verdict.value}` |" in WRITTEN["verdicts.md"] for verdict in Verdict)
    assert "|".join(list_command.KINDS) in WRITTEN["README.md"].replace("\n", "")
    assert all(kind in MADE["commands/schema.md"] for kind in schema_command.KINDS)
    assert all(name in MADE["commands/compare.md"] for name in COMPARED)


def test_every_link_leads_to_a_page() -> None:
    known = {*MADE, *WRITTEN}
    for name, text in (MADE | {name: WRITTEN[name] for name in WRITTEN if name != "README.md"}).items():
        for target in re.findall(r"\]\(([\w/.-]+\.md)\)", text):
            assert os.path.normpath(os.path.join(os.path.dirname(name), target)) in known, (name, target)


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(site)],
        cwd=DOCS.parent,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1", "SPECAUDIT_DOCS_COSTS": "no"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (site / "checks" / "LAW1.html").exists()


SHOWN = list(dict.fromkeys(" ".join(words) for text in WRITTEN.values() for words in command_lines(text)))

_NOT_RUN = ("serve", "calibrate", "counters", "claim", "merge", "doctor")
"""Which go on until they are stopped, take minutes, or need files of others; they are typed (see test_readme)."""

_ADDRESSES = {
    "--endpoint": "http://127.0.0.1:9/v1",
    "--reference": "http://127.0.0.1:10/v1",
    "--metrics": "http://127.0.0.1:9/metrics",
}
"""Where nothing listens."""


def _prepared(words: list[str], audit: Path) -> list[str]:
    """The words with what stands for something else put in its place, and a small suite where none is named."""
    places = {"DIR": str(audit), "BEFORE": str(audit), "AFTER": str(audit), "my.toml": "host-table"}
    put = [places.get(word, word) for word in words]
    for option, address in _ADDRESSES.items():
        if option in put and put[put.index(option) + 1] != "self":
            put[put.index(option) + 1] = address
    if put[0] == "run" and "--resume" not in put and "--endpoint" not in put:
        put += ["--suite", SMALL, "--select", "GRD1"]
    return put


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented") / "audit"
    run_audit(small_audit(folder, select=("GRD1",)))
    return folder


RUN = [line for line in SHOWN if not line.startswith(_NOT_RUN) and not set(line.split()) & {"…", "--shard", "merged"}]
"""Parts of an audit that is divided belong together, and are tested together elsewhere."""


@pytest.mark.parametrize("line", RUN)
def test_every_documented_command_runs(specaudit: Specaudit, audit: Path, line: str) -> None:
    """Nothing listens at the addresses: such an audit ends with 3, having been carried out as far as it goes."""
    words = _prepared(line.split(), audit)
    ran = specaudit(*words)
    unreachable = words[0] == "run" and "--endpoint" in words
    expected = {0} if not unreachable else {3} if "--claim" not in words else {1, 3}  # a claim can be false by itself
    assert ran.code in expected, ran.err
    assert "Traceback" not in ran.err


def test_commands_are_found_on_every_page() -> None:
    assert len(SHOWN) > 20
    assert any(line.startswith("report DIR --format intoto") for line in SHOWN)


@pytest.mark.parametrize("line", SHOWN)
def test_every_documented_command_can_be_typed(line: str) -> None:
    command: click.Command = load(line.split()[0])
    context = cli.make_context("specaudit", line.split()[:1])
    words = line.split()[1:]
    while isinstance(command, click.Group):
        context = command.make_context(command.name, words[:1], parent=context)
        command = command.commands[words.pop(0)]
    command.make_context(command.name, words, parent=context)
