import tomllib
from pathlib import Path

import click
import pytest

from specaudit.audit.record import read_evidence
from specaudit.cli.main import COMMANDS, load
from specaudit.cli.settings import from_files
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm, Plan
from tests.audit.small import SMALL
from tests.cli.conftest import Specaudit

NOBODY = "http://127.0.0.1:9999/v1"
GRD1 = f'suite = "{SMALL}"\nselect = "GRD1"\n'


def planned(specaudit: Specaudit, *arguments: object) -> Plan:
    """The plan of a run; whether the engine can be reached does not matter."""
    ran = specaudit("run", "-q", "--out", "out", *arguments)
    assert ran.code in (0, 3), ran.err
    return read_evidence(Path("out")).plan


def subject(specaudit: Specaudit, *arguments: object) -> Arm:
    return planned(specaudit, *arguments).arms[0]


def told(text: str) -> str:
    Path("specaudit.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        from_files(COMMANDS, load)
    assert caught.value.hint
    return caught.value.message


def test_without_files_there_are_no_settings() -> None:
    assert from_files(COMMANDS, load) == {}


def test_loose_keys_are_for_run_and_tables_for_the_command_of_their_name() -> None:
    Path("specaudit.toml").write_text(
        'suite = "quick"\ndraft-tokens = 2\nallow_inconclusive = true\nalpha = 1e-2\n'
        '[run]\nsuite = "mine.toml"\njson = true\n[serve]\nport = 0\nmodel-name = "m"\n'
    )
    assert from_files(COMMANDS, load) == {
        "run": {"suite": "mine.toml", "draft_tokens": 2, "allow_inconclusive": True, "alpha": 0.01, "json": True},
        "plan": {"suite": "mine.toml", "draft_tokens": 2, "alpha": 0.01},
        "serve": {"port": 0, "model_name": "m"},
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_can_be_set_in_a_file(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "secret")
    kinds = {"boolean": "true", "integer": "7", "integer range": "7", "float": "0.2", "float range": "0.2"}
    kinds |= {"report_file": "['junit=a.xml', 'json=b.json']", "secret_header": "['X-Key=KEY']", "seconds": "'5s'"}
    kinds |= {"plain_arm": "['full-precision=http://127.0.0.1:1/v1']"}
    options = [option for option in load(name).params if isinstance(option, click.Option)]
    values = [
        repr(o.type.choices[0]) if isinstance(o.type, click.Choice) else kinds.get(o.type.name, "'x'") for o in options
    ]
    values = [
        f"[{value}]" if o.multiple and not value.startswith("[") else value
        for o, value in zip(options, values, strict=True)
    ]
    lines = [f"{max(o.opts, key=len).lstrip('-')} = {value}" for o, value in zip(options, values, strict=True)]
    Path("specaudit.toml").write_text("\n".join([f"[{name}]", *lines]))
    found = from_files(COMMANDS, load)[name]
    assert set(found) == {option.name for option in options}
    assert list(found.values()) == list(tomllib.loads("\n".join(lines)).values())


def test_pyproject_counts_where_there_is_no_file_of_our_own() -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\n[tool.specaudit]\nsuite = "a.toml"\n')
    assert from_files(COMMANDS, load) == {name: {"suite": "a.toml"} for name in ("run", "plan")}
    Path("specaudit.toml").write_text('suite = "b.toml"\n')
    assert from_files(COMMANDS, load) == {name: {"suite": "b.toml"} for name in ("run", "plan")}
    Path("specaudit.toml").write_text("")
    assert from_files(COMMANDS, load) == {}


def test_a_pyproject_of_others_says_nothing_to_us() -> None:
    Path("pyproject.toml").write_text('[project]\nname = "x"\n')
    assert from_files(COMMANDS, load) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('siute = "quick"\n', "specaudit.toml, run: unknown key 'siute'. Did you mean 'suite'?"),
        ("[run]\ndraft_token = 3\n", "specaudit.toml, run: unknown key 'draft_token'. Did you mean 'draft-tokens'?"),
        ('api-key = "sk"\n', "specaudit.toml, run: unknown key 'api-key'. Did you mean 'api'?"),
        ("[serve]\nsuite = 'quick'\n", "specaudit.toml, serve: unknown key 'suite'. Did you mean 'step-ms'?"),
        ("[rn]\nsuite = 'quick'\n", "specaudit.toml: there is no command 'rn'. Did you mean 'run'?"),
        ("suite = 3\n", "specaudit.toml, run: 'suite' must be a text in quotes, and is 3."),
        ('select = ["GRD1"]\n', "specaudit.toml, run: 'select' must be a text in quotes, and is a list."),
        ('alpha = "much"\n', "specaudit.toml, run: 'alpha' must be a number, and is a text."),
        ("alpha = true\n", "specaudit.toml, run: 'alpha' must be a number, and is True."),
        ("draft-tokens = 2.5\n", "specaudit.toml, run: 'draft-tokens' must be a whole number, and is 2.5."),
        ('json = "yes"\n', "specaudit.toml, run: 'json' must be true or false, and is a text."),
        ("report = 3\n", "specaudit.toml, run: 'report' must be a text in quotes, or a list of them, and is 3."),
        (
            "report = ['junit']\n",
            "specaudit.toml, run: 'report' is wrong: 'junit' is not FORMAT=FILE, such as junit=specaudit.xml.",
        ),
        ("concurrency = 0\n", "specaudit.toml, run: 'concurrency' is wrong: 0 is not in the range 1<=x<=1024."),
        ("suite =\n", "specaudit.toml cannot be read as TOML: Invalid value (at line 1, column 8)."),
    ],
)
def test_a_mistake_in_a_file_is_told(text: str, message: str) -> None:
    assert told(text) == message


@pytest.mark.parametrize("text", ["[tool]\nspecaudit = 3\n", "[tool.specaudit]\nsiute = 'x'\n"])
def test_a_mistake_in_pyproject_is_told(text: str) -> None:
    Path("pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=r"\[tool.specaudit\] of pyproject.toml"):
        from_files(COMMANDS, load)


def test_a_file_that_is_no_text_is_told() -> None:
    Path("specaudit.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"specaudit.toml cannot be read as TOML"):
        from_files(COMMANDS, load)


def test_a_mistake_in_a_file_ends_the_command(specaudit: Specaudit) -> None:
    Path("specaudit.toml").write_text('siute = "quick"\n')
    ran = specaudit("run")
    assert ran.code == 2
    assert ran.err == (
        "specaudit: specaudit.toml, run: unknown key 'siute'. Did you mean 'suite'?\nTry: specaudit run --help\n"
    )


def test_the_file_stands_above_the_suite_the_environment_above_it_and_the_command_line_on_top(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def alpha(out: str, *arguments: object) -> float:
        assert specaudit("run", "-q", "--out", out, *arguments).code == 0
        return read_evidence(Path(out)).plan.alpha

    Path("specaudit.toml").write_text(GRD1)
    assert alpha("suite") == 0.02
    Path("specaudit.toml").write_text(GRD1 + "alpha = 0.03\n")
    assert alpha("file") == 0.03
    monkeypatch.setenv("SPECAUDIT_RUN_ALPHA", "0.04")
    assert alpha("environment") == 0.04
    assert alpha("command", "--alpha", "0.05") == 0.05


def test_every_option_of_run_is_read_from_the_environment(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"SUITE": SMALL, "SELECT": "GRD1", "OUT": "there", "JSON": "1", "QUIET": "1", "SEED": "3"}
    values |= {"ENGINE": "mutant:reuse-uniform", "DRAFT_TOKENS": "2", "CONCURRENCY": "1", "TIMEOUT": "9"}
    for name, value in values.items():
        monkeypatch.setenv(f"SPECAUDIT_RUN_{name}", str(value))
    ran = specaudit("run")
    assert (ran.code, ran.err, ran.out[0]) == (0, "", "{")
    plan = read_evidence(Path("there")).plan
    assert (plan.checks, plan.seed, plan.concurrency) == (("GRD1",), 3, 1)
    assert (plan.arms[0].engine, plan.arms[0].draft_tokens) == ("mutant:reuse-uniform", 2)


def test_a_wrong_value_in_the_environment_is_told(specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECAUDIT_RUN_ALPHA", "much")
    ran = specaudit("run")
    assert ran.code == 2
    assert "'much' is not a valid float" in ran.err
    assert "--alpha" in ran.err


def test_where_the_endpoint_comes_from(specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    def endpoint(out: str, *arguments: object) -> str | None:
        assert specaudit("run", "-q", "--out", out, *arguments).code == 3
        return read_evidence(Path(out)).plan.arms[0].endpoint

    Path("specaudit.toml").write_text('endpoint = "http://127.0.0.1:1/file"\n')
    assert endpoint("a") == "http://127.0.0.1:1/file"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/openai")
    assert endpoint("b") == "http://127.0.0.1:1/openai"
    monkeypatch.setenv("SPECAUDIT_RUN_ENDPOINT", "http://127.0.0.1:1/own")
    assert endpoint("c") == "http://127.0.0.1:1/own"
    assert endpoint("d", "--base-url", "http://127.0.0.1:1/command") == "http://127.0.0.1:1/command"


def test_a_subject_on_the_command_line_puts_aside_one_from_elsewhere(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("specaudit.toml").write_text(
        GRD1 + 'reference = "http://127.0.0.1:1/v1"\nmetrics = "http://127.0.0.1:1/metrics"\nmodel = "m"\n'
    )
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    assert subject(specaudit, "--engine", "mutant:reuse-uniform").engine == "mutant:reuse-uniform"


def test_drafts_on_the_command_line_are_for_a_subject_in_process(
    specaudit: Specaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("specaudit.toml").write_text(GRD1)
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    assert subject(specaudit, "--draft-tokens", "2").draft_tokens == 2


def test_an_endpoint_on_the_command_line_puts_aside_an_engine_from_a_file(specaudit: Specaudit) -> None:
    Path("specaudit.toml").write_text('engine = "mutant:reuse-uniform"\ndraft-tokens = 2\n')
    assert subject(specaudit, "--endpoint", NOBODY).endpoint == NOBODY


def test_two_subjects_from_one_place_contradict_each_other(specaudit: Specaudit) -> None:
    Path("specaudit.toml").write_text(f'engine = "mutant:reuse-uniform"\nendpoint = "{NOBODY}"\n')
    ran = specaudit("run")
    assert ran.code == 2
    assert "--engine is for a subject in process, and --endpoint names a server." in ran.err
