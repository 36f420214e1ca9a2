import json
from pathlib import Path

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from specaudit.cli.claim_command import command
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


EIGHT_H100 = ("--model", "Llama-3.3-70B", "--device", "H100", "--devices", 8, "--precision", "fp8")
AS_STATED = (*EIGHT_H100, "--drafter", "share:0.016", "--acceptance", 0.6, "--no-attention", "--no-links")


@pytest.mark.parametrize(
    "arguments",
    [
        (*AS_STATED, "--draft-tokens", 4, "--spread", 0.15),
        (*EIGHT_H100, "--context", 1024, "--batch", 1, "--batch", 64, "--tree", "0,0,1,1,2,2,3,4,5,6"),
        ("--model", "DeepSeek-V3", "--device", "B200", "--devices", 8, "--precision", "fp8", "--drafter", "mtp"),
        ("--model", "Llama-3.3-70B", "--device", "H100", "--batch", 1, "--context", 1024, "--drafter", "lookup"),
    ],
    ids=["as stated, with tails", "a tree", "experts", "weights that do not fit"],
)
def test_price(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    ran = specaudit("claim", "price", *arguments)
    assert ran.code == 0
    assert steady(ran) == snapshot


def test_price_as_json(specaudit: Specaudit) -> None:
    listed = json.loads(specaudit("claim", "price", *AS_STATED, "--json").out)
    assert [cell["best"] for cell in listed["cells"] if cell["context"] == 1024] == [3, 3, 3, 2, 1, 1, 0]
    assert listed["contexts"][0]["lengths"][0] == [1, 60, 3]


@pytest.mark.parametrize("drafter", ["model:Llama-3.1-8B", "eagle", "eagle3", "blind", "mtp", "lookup", "share:0"])
def test_every_drafter_has_a_price(specaudit: Specaudit, drafter: str) -> None:
    assert specaudit("claim", "price", *EIGHT_H100, "--drafter", drafter, "--batch", 1, "--context", 99).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "Llama-3.3-70B", "--device", "H10O"),
        ("--model", "Llama-3.3-7B", "--device", "H100"),
        (*EIGHT_H100, "--precision", "4"),
        (*EIGHT_H100, "--drafter", "eagel"),
        (*EIGHT_H100, "--drafter", "share:2"),
        (*EIGHT_H100, "--drafter", "model:Llama"),
        (*EIGHT_H100, "--tree", "0,5"),
        (*EIGHT_H100, "--spread", 0.9),
        ("--model", "Llama-3.3-70B", "--device", "WSE-3", "--devices", 4),
        (*EIGHT_H100, "--acceptance", 80),
    ],
    ids=lambda arguments: " ".join(map(str, arguments[-2:])),
)
def test_what_cannot_be_priced(
    specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]
) -> None:
    ran = specaudit("claim", "price", *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot


def test_a_claim_in_an_audit(specaudit: Specaudit) -> None:
    ran = specaudit("run", "-q", "--claim", "host-table", "--select", "CLM1", "--out", "kept")
    assert ran.code == 1
    assert "6.2 times the 272" in " ".join(ran.out.split())
    assert specaudit("analyze", "kept").code == 1
    again = specaudit("run", "--resume", "kept", "--claim", "host-table")
    assert again.code == 2
    assert "--claim is for an audit that is yet to be planned" in again.err


def test_a_claim_beside_evidence(specaudit: Specaudit, a_bare_place: Path) -> None:
    assert specaudit("run", "-q", "--engine", "mutant:resid-from-target", "--select", "LAW1", "--out", "kept").code == 1
    Path("mine.toml").write_text(f"{HEAD}[numbers]\nlossless = true\n")
    ran = specaudit("claim", "check", "mine.toml", "--evidence", "kept")
    assert ran.code == 1
    assert ran.out.startswith("MEASURED FALSE")
    assert "lossless claimed; LAW1 violates: refuted" in ran.out


SMALL = (*EIGHT_H100, "--drafter", "share:0.016", "--requests", 12, "--shortest", 8, "--longest", 16)


@pytest.mark.parametrize(
    "arguments",
    [("--rate", 200, "--at-once", 4), ("--at-once", 8, "--prefill", "--kv-tokens", 60, "--kind", "chat=1:0.7")],
    ids=["two loads", "little room"],
)
def test_simulate(specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]) -> None:
    ran = specaudit("claim", "simulate", *SMALL, *arguments)
    assert ran.code == 0
    assert steady(ran) == snapshot


def test_simulate_as_json(specaudit: Specaudit) -> None:
    compared = json.loads(specaudit("claim", "simulate", *SMALL, "--at-once", 2, "--json").out)
    names = [one["policy"] for one in compared["loads"][0]["policies"]]
    assert names == ["plain", "fixed 4", "by batch", "adaptive", "oracle"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kind", "chat"),
        ("--kind", "chat=1:0.3"),
        ("--shortest", 9, "--longest", 8),
        ("--precision", "bf16", "--devices", 1),
        ("--kv-tokens", 3),
    ],
    ids=lambda arguments: " ".join(map(str, arguments)),
)
def test_what_cannot_be_simulated(
    specaudit: Specaudit, snapshot: SnapshotAssertion, arguments: tuple[object, ...]
) -> None:
    ran = specaudit("claim", "simulate", *SMALL, *arguments)
    assert ran.code == 2
    assert steady(ran) == snapshot


@pytest.mark.parametrize("name", ["check", "price", "simulate"])
def test_every_option_says_what_it_does(name: str) -> None:
    found = command.commands[name]
    assert isinstance(found, click.Command)
    assert all(option.help for option in found.params if isinstance(option, click.Option))


def test_tables_of_ones_own_from_settings(specaudit: Specaudit, nvidia: str) -> None:
    Path("own.toml").write_text(
        '[[device]]\nname = "H200"\nmemory = "141 GB"\nbandwidth = "2 TB/s"\nsource = "me"\nmemory_only = true\n'
    )
    Path("specaudit.toml").write_text('[claim.check]\nhardware = ["own.toml"]\n')
    assert specaudit("claim", "check", nvidia).code == 1
    Path("specaudit.toml").write_text('[claim.chek]\nhardware = ["own.toml"]\n')
    ran = specaudit("claim", "check", nvidia)
    assert ran.code == 2
    assert "there is no command 'chek'. Did you mean 'check'?" in ran.err
    Path("specaudit.toml").write_text('[claim.check]\nhardwear = ["own.toml"]\n')
    assert "unknown key 'hardwear'. Did you mean 'hardware'?" in specaudit("claim", "check", nvidia).err
    Path("specaudit.toml").write_text("[claim]\ncheck = 3\n")
    assert "claim, check must be a table, and is 3." in specaudit("claim", "check", nvidia).err
