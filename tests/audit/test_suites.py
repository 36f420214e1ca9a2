from pathlib import Path

import pytest

from specaudit.audit.suites import load_suite, parse_suite, shipped
from specaudit.checks import registry
from specaudit.model.errors import UsageError
from specaudit.mutants import registry as mutants
from tests.audit.small import SMALL

HEAD = 'name = "mine"\ntitle = "# tolerance = 3"\n'


def mistake(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_suite(text, "mine.toml")
    assert caught.value.exit_code == 2
    assert caught.value.hint.startswith("specaudit ")
    return caught.value.message


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_suite_loads_and_demands_something(name: str) -> None:
    suite = load_suite(name)
    assert suite.name == name
    assert suite.title
    settings = [registry.settings_of(suite, check_id) for check_id in suite.checks]
    assert any(check.required for check in settings)


@pytest.mark.parametrize("name", ["losslessness", "greedy", "parameters", "fp8", "seeds"])
def test_the_release_gate_asks_as_much_as_every_family_alone(name: str) -> None:
    gate, family = load_suite("release-gate"), load_suite(name)
    assert gate.alpha <= family.alpha
    assert gate.prompts == family.prompts or not family.prompts.candidates
    assert gate.background == family.background or family.background is None
    weaker = {"required", "tolerance", "prompts"}
    for check_id, settings in family.checks.items():
        ours, theirs = gate.checks[check_id], settings
        assert {key: value for key, value in ours.items() if key not in weaker} == {
            key: value for key, value in theirs.items() if key not in weaker
        }
        assert ours.get("tolerance", 0.0) <= theirs.get("tolerance", 0.0)
        assert ours.get("prompts", 0) >= theirs.get("prompts", 0)


def test_fp8_requires_a_check_that_finds_each_way_in_which_precision_breaks_exactness() -> None:
    suite = load_suite("fp8")
    required = {check_id for check_id in suite.checks if registry.settings_of(suite, check_id).required}
    faults = [mutant for mutant in map(mutants.get, mutants.names()) if mutant.family == "precision"]
    assert len(faults) == 2
    assert all(required & set(mutant.killed_by) for mutant in faults)


def test_quick_is_shipped() -> None:
    assert "quick" in shipped()


def test_a_suite_is_read_from_a_path() -> None:
    assert load_suite(str(SMALL)).name == "small"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('nmae = "x"\n', "mine.toml, line 1: unknown key 'nmae'. Did you mean 'name'?"),
        (HEAD + "alpah = 0.1\n[checks]\n", "line 3: unknown key 'alpah'. Did you mean 'alpha'?"),
        (HEAD + "[checks.LAW1]\n# x\ntolerence = 0.1\n", "line 5: unknown key 'tolerence'. Did you mean 'tolerance'?"),
        (
            HEAD + "[checks.LAW1]\nsampling = { temprature = 1 }\n",
            "line 4: unknown key 'temprature'. Did you mean 'temperature'? Valid keys here: temperature, top_k, ",
        ),
        (
            HEAD + "[checks.LAW1]\n[checks.LAW1.sampling]\ntemprature = 1\n",
            "line 5: unknown key 'temprature'. Did you mean 'temperature'? Valid keys here: temperature, top_k, ",
        ),
        (
            HEAD + "[checks.LAW1]\nsampling.temprature = 1\n",
            "line 4: unknown key 'temprature'. Did you mean 'temperature'?",
        ),
        (
            HEAD + "[checks.LAW1]\ntemperature = 1\n",
            "line 4: unknown key 'temperature'. Did you mean 'sampling.temperature'?",
        ),
        (HEAD + "[checks.GRD1]\n[checks.LAW9]\n", "line 4: There is no check 'LAW9'. Did you mean 'LAW6'?"),
        (HEAD + "[checks.law1]\n", "line 3: There is no check 'law1'. Did you mean 'LAW1'?"),
        (HEAD + '[checks]\n"LAW 9" = {}\n', "line 4: There is no check 'LAW 9'."),
    ],
)
def test_a_typo_is_told_with_its_line_and_the_nearest_key(text: str, message: str) -> None:
    assert message in mistake(text)


def test_a_key_that_also_stands_elsewhere_is_told_where_it_is_wrong() -> None:
    text = HEAD + "# prompts = 1\n[checks.GRD1]\nprompts = 3\n\n[checks.CTR1]\n'prompts' = 3\n"
    assert "line 8: unknown key 'prompts'" in mistake(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "[checks.LAW1]\ntolerance = 'big'\n", "line 4: 'tolerance' is wrong: expected `float`, got `str`."),
        (HEAD + "[checks.LAW1]\ntolerance = 5\n", "line 4: 'tolerance' is wrong: expected `float` < 1.0."),
        (HEAD + "[checks.LAW1]\nprompts = 0\n", "line 4: 'prompts' is wrong: expected `int` >= 1."),
        (HEAD + "[checks.LAW1]\ntolerance = nan\n", "line 4: 'tolerance' is no finite number."),
        (HEAD + "[checks.CTR3]\nstated = [1.0, inf]\n", "line 4: 'stated' is no finite number."),
        (HEAD + "[checks.CTR3]\nstated = [1.0]\n", "line 4: 'stated' is wrong: expected `array` of length 2, got 1."),
        (HEAD + "[checks.CTR3]\nstated = [1.0, 'x']\n", "line 4: 'stated' is wrong: expected `float`, got `str`."),
        (HEAD + "[checks.LAW1.sampling]\ntop_k = 'x'\n", "line 4: 'top_k' is wrong: expected `int`, got `str`."),
        (HEAD + "[checks]\nGRD1 = 3\n", "line 4: 'GRD1' is wrong: expected `table`, got `int`."),
        (HEAD + "checks = 3\n", "line 3: 'checks' is wrong: expected `table`, got `int`."),
        (HEAD + "alpha = 0.5\n[checks]\n", "line 3: 'alpha' is wrong: expected `float` < 0.5."),
        (HEAD + "concurrency = 0\n[checks]\n", "line 3: 'concurrency' is wrong: expected `int` >= 1."),
        (HEAD, "mine.toml: the key 'checks' is missing."),
        ("", "mine.toml: the key 'name' is missing."),
        ("name == 1\n", "mine.toml is not TOML: Invalid value (at line 1, column 7)."),
        (HEAD + "[checks]\n[checks]\n", "mine.toml is not TOML: Cannot declare ('checks',) twice (at line 4"),
    ],
)
def test_a_wrong_value_is_told_with_its_line_and_key(text: str, message: str) -> None:
    assert message in mistake(text)


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no suite 'quikc'. Did you mean 'quick'\?"):
        load_suite("quikc")


def test_a_missing_file_a_folder_and_a_binary_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone.toml cannot be read: No such file"):
        load_suite(str(tmp_path / "gone.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(UsageError, match=r"folder.toml cannot be read: Is a directory"):
        load_suite(str(tmp_path / "folder.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\x89PNG\r\n\xff\xfe")
    with pytest.raises(UsageError, match="not UTF-8 text, so it is no suite"):
        load_suite(str(tmp_path / "binary.toml"))
    (tmp_path / "nul.toml").write_bytes(b"a = 1\x00")
    with pytest.raises(UsageError, match="is not TOML"):
        load_suite(str(tmp_path / "nul.toml"))


def test_what_is_not_said_has_its_default() -> None:
    suite = parse_suite(HEAD + "[checks.GRD1]\n", "mine.toml")
    assert suite.alpha == 1e-3
    assert suite.checks == {"GRD1": {}}
