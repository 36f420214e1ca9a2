import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Specaudit
from tests.cli.steady import steady

NVIDIA = Path(__file__).parents[1] / "model" / "forms" / "v1" / "claim.toml"

HEAD = 'wording = "x"\nsource = "y"\ndate = "2024"\n'
MODEL = '[conditions]\nmodel = "Llama-3.3-70B"\nhardware = "H200"\ndevices = 1\n'


@pytest.fixture
def nvidia(a_bare_place: Path) -> str:
    (a_bare_place / "nvidia.toml").write_bytes(NVIDIA.read_bytes())
    return "nvidia.toml"


def test_two_claims(specaudit: Specaudit, snapshot: SnapshotAssertion, nvidia: str) -> None:
    ran = specaudit("claim", "check", "host-table", nvidia)
    assert ran.code == 1
    assert steady(ran) == snapshot


def test_one_that_is_plausible(specaudit: Specaudit, nvidia: str) -> None:
    assert specaudit("claim", "check", nvidia).code == 0


@pytest.mark.parametrize(("options", "code"), [((), 4), (("--allow-inconclusive",), 0)])
def test_one_that_is_possible_only_if(
    specaudit: Specaudit, a_bare_place: Path, options: tuple[str, ...], code: int
) -> None:
    Path("mine.toml").write_text(f'{HEAD}[numbers]\nspeed_up = 3.55\n{MODEL}draft_tokens = 3\nbaseline = "plain"\n')
    assert specaudit("claim", "check", "mine.toml", *options).code == code


def test_one_that_nobody_can_measure(specaudit: Specaudit, a_bare_place: Path) -> None:
    Path("mine.toml").write_text(f'{HEAD}unstated = ["baseline"]\n[numbers]\nspeed_up = 2\n')
    ran = specaudit("claim", "check", "mine.toml")
    assert ran.code == 3
    assert ran.out.startswith("NOT MEASURABLE FROM OUTSIDE")


def test_reports_and_json(specaudit: Specaudit, snapshot: SnapshotAssertion, nvidia: str) -> None:
    ran = specaudit("claim", "check", nvidia, "--json", "--report", "markdown=page.md", "--report", "json=page.json")
    (judgement,) = json.loads(ran.out)
    assert judgement["ruling"] == "plausible"
    assert json.loads(Path("page.json").read_text()) == [judgement]
    assert Path("page.md").read_text() == snapshot


@pytest.mark.parametrize(
    "text",
    [
        "[numbers]\nspeed_up = 3\n",
        "[numbers]\ntokens_per_second = 100\n",
        f"[numbers]\ntokens_per_second = 100\n{MODEL}precision = '8'\n",
        "[numbers]\ntokens_per_second = 100\n[conditions]\nmodel = 'Llama-3.3-70B'\nhardware = '8xH100'\n",
        "[numbers]\ntokens_per_second = 100\n[conditions]\nmodel = 'Llama-3.3-70B'\nhardware = 'H20O'\n",
        "[numbers]\nacceptance_length = 4.5\n[conditions]\ndraft_tokens = 3\n",
        "[numbers]\nspeedup = 2\n",
        "",
        "[numbers\n",
    ],
)
def test_bad_claims(specaudit: Specaudit, snapshot: SnapshotAssertion, a_bare_place: Path, text: str) -> None:
    Path("mine.toml").write_text(HEAD + text)
    ran = specaudit("claim", "check", "mine.toml")
    assert ran.code == 2
    assert steady(ran) == snapshot


@pytest.mark.parametrize(
    "row",
    [
        'memory = "80"\nbandwidth = "3 TB/s"\ndense = { bf16 = "900 TFLOP/s" }',
        'memory = "80 GB"\nbandwidth = "3 Tb/s"\ndense = { bf16 = "900 TFLOP/s" }',
        'memory = "80 GB"\nbandwidth = "3 TB/s"\nsparse = { bf16 = "900 TFLOP/s" }',
    ],
)
def test_bad_hardware(specaudit: Specaudit, snapshot: SnapshotAssertion, nvidia: str, row: str) -> None:
    Path("own.toml").write_text(f'[[device]]\nname = "mine"\nsource = "me"\n{row}\n')
    ran = specaudit("claim", "check", nvidia, "--hardware", "own.toml")
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_hardware_of_ones_own(specaudit: Specaudit, nvidia: str) -> None:
    Path("own.toml").write_text(
        '[[device]]\nname = "H200"\nmemory = "141 GB"\nbandwidth = "2 TB/s"\nsource = "me"\n'
        'dense = { bf16 = "900 TFLOP/s" }\n'
    )
    ran = specaudit("claim", "check", nvidia, "--hardware", "own.toml")
    assert ran.code == 1
    assert "51.14 tokens/s without speculation are 1.8 times the 28 that memory allows." in ran.out


@pytest.mark.parametrize("report", ["html=x", "markdown", "markdown="])
def test_reports_that_are_none(specaudit: Specaudit, nvidia: str, report: str) -> None:
    ran = specaudit("claim", "check", nvidia, "--report", report)
    assert ran.code == 2
    assert "is not FORMAT=FILE" in ran.err


def test_a_report_that_cannot_be_written(specaudit: Specaudit, nvidia: str) -> None:
    ran = specaudit("claim", "check", nvidia, "--report", "json=nowhere/x.json")
    assert ran.code == 3
    assert "nowhere/x.json could not be written" in ran.err


def test_the_published_page_is_what_is_printed(specaudit: Specaudit) -> None:
    root = Path(__file__).parents[2]
    claims = sorted((root / "suites" / "claims").glob("*.toml"))
    ran = specaudit("claim", "check", *claims, "--report", "markdown=page.md")
    assert ran.code == 1
    assert Path("page.md").read_text() == (root / "reports" / "claims.md").read_text()
