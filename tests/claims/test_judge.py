from pathlib import Path
from typing import Any

import msgspec
import pytest

from specaudit.claims.judge import judge
from specaudit.claims.judgement import Judgement, Ruling
from specaudit.claims.reading import load_claim, shipped_claims
from specaudit.claims.tables import devices, models
from specaudit.model.claim import Claim
from specaudit.model.errors import UsageError

TABLES = devices(), models()
NVIDIA: dict[str, Any] = {
    "wording": "3.55x",
    "source": "test",
    "date": "2024",
    "numbers": {"speed_up": 3.55, "tokens_per_second": 181.74, "baseline_tokens_per_second": 51.14},
    "conditions": {"model": "Llama-3.3-70B", "precision": "fp8", "hardware": "H200", "devices": 1},
}


def claim(numbers: dict[str, Any] | None = None, conditions: dict[str, Any] | None = None, **more: Any) -> Claim:
    """A claim; what is given here takes the place of what NVIDIA's has."""
    data = NVIDIA | more
    data["numbers"] = NVIDIA["numbers"] if numbers is None else numbers
    data["conditions"] = NVIDIA["conditions"] | (conditions or {})
    return msgspec.convert(
        {**data, "conditions": {k: v for k, v in data["conditions"].items() if v is not None}}, Claim
    )


def judged(*args: Any, **more: Any) -> Judgement:
    return judge(claim(*args, **more), "it", *TABLES)


def range_of(found: Judgement, condition: str, *, usual: bool = False) -> tuple[float | None, float | None]:
    one = next(one for one in (found.usually if usual else found.only_if) if one.condition == condition)
    return (one.low if one.bounded_below else None, one.high if one.bounded_above else None)


def test_181_tokens_a_second_are_possible_and_take_2_67_tokens_a_step() -> None:
    found = judged()
    assert found.ruling is Ruling.PLAUSIBLE
    assert found.tokens_needed == pytest.approx(2.67, abs=5e-3)
    assert found.over_ceiling is None


def test_the_hosts_table_is_refused_by_one_division() -> None:
    found = judge(load_claim("host-table"), "host-table", *TABLES)
    assert found.ruling is Ruling.IMPOSSIBLE
    assert found.over_ceiling is not None
    assert found.over_ceiling > 6
    assert "6.2 times the 272 that memory allows" in found.reasons[1]


@pytest.mark.parametrize(
    ("conditions", "ruling"),
    [
        ({"draft_tokens": 2}, Ruling.IMPOSSIBLE),  # at most three tokens a step for a speed-up of 3.55
        ({"draft_tokens": 3}, Ruling.CONDITIONAL),  # an acceptance of .92, above what is usual
        ({"draft_tokens": 8}, Ruling.PLAUSIBLE),
        ({"precision": "bf16", "devices": 1}, Ruling.IMPOSSIBLE),  # 34 steps a second, and 51 claimed without drafts
        ({"devices": 2}, Ruling.PLAUSIBLE),
        ({"hardware": "H100"}, Ruling.IMPOSSIBLE),  # 47 steps a second
        ({"context": 131072}, Ruling.CONDITIONAL),  # 52 steps a second with a cache in FP8
        ({"context": 131072, "cache_precision": "bf16"}, Ruling.IMPOSSIBLE),  # 43
    ],
)
def test_what_conditions_decide(conditions: dict[str, Any], ruling: Ruling) -> None:
    assert judged(conditions=conditions).ruling is ruling


def test_what_must_be_true_of_what_is_not_stated() -> None:
    found = judged()
    assert range_of(found, "draft_tokens") == (3, None)
    low, high = range_of(found, "acceptance")
    assert high is None
    assert low == pytest.approx(0.72)  # Σ .72ⁱ is 3.57, of ever so many drafts
    assert range_of(found, "batch")[0] is None
    wider = judged(conditions={"precision": None})
    assert next(one for one in wider.only_if if one.condition == "precision").names == (
        "fp8",
        "int8",
        "nvfp4",
        "mxfp4",
        "int4",
    )


@pytest.mark.parametrize(("drafts", "ruling"), [(5, Ruling.IMPOSSIBLE), (6, Ruling.CONDITIONAL)])
def test_6_66_times_as_fast_takes_six_drafts(drafts: int, ruling: Ruling) -> None:
    numbers = {"tokens_per_second": 1665, "baseline_tokens_per_second": 250}
    unknown = {"model": None, "hardware": None, "precision": None, "devices": None}
    found = judged(numbers, unknown | {"draft_tokens": drafts}, unstated=["model", "hardware"])
    assert found.ruling is ruling
    if drafts == 6:
        assert "6 drafts with an acceptance of at least 0.984" in found.reasons[0]


def test_an_acceptance_that_does_not_give_so_many_tokens() -> None:
    numbers = {"speed_up": 3.0, "acceptance_rate": 0.5}
    found = judged(numbers, {"draft_tokens": 3, "baseline": "plain"})
    assert found.ruling is Ruling.IMPOSSIBLE
    assert "So many tokens a step do not come of the acceptance that was stated." in found.reasons
    assert judged(numbers, {"draft_tokens": 5, "baseline": "plain"}).ruling is Ruling.PLAUSIBLE


def test_a_model_that_does_not_fit() -> None:
    found = judged({"tokens_per_second": 5}, {"precision": "bf16", "hardware": "H100"})
    assert found.ruling is Ruling.IMPOSSIBLE
    assert "141.1 GB of weights do not fit into 80.0 GB of memory." in found.reasons


def test_a_factor_over_something_that_nobody_can_run() -> None:
    found = judged({"speed_up": 2.0}, {"model": None, "hardware": None}, unstated=["baseline"])
    assert found.ruling is Ruling.NOT_MEASURABLE
    assert any("is the speed-up over" in question for question in found.questions)


def test_experts_make_a_factor_of_1_8_a_matter_of_the_batch() -> None:
    """Two tokens of DeepSeek-V3 read 1.53 times the bytes of one, unless a batch reads all experts anyway."""
    conditions = {"model": "DeepSeek-V3", "devices": 8, "draft_tokens": 1, "baseline": "plain", "precision": "fp8"}
    found = judged({"speed_up": 1.8, "acceptance_rate": [0.85, 0.90]}, conditions)
    low, _ = range_of(found, "batch", usual=True)
    assert low is not None
    assert low >= 16
    assert "touch 15.75 of 256 routed experts a layer, where 8.00 are touched" in found.reasons[1]
    assert "1.53 times the bytes" in found.reasons[1]
    alone = judged({"speed_up": 1.8, "acceptance_rate": [0.85, 0.90]}, conditions | {"batch": 1})
    assert alone.ruling is Ruling.CONDITIONAL
    assert range_of(alone, "experts shared", usual=True)[0] == 1.0


def test_nothing_is_refused_for_the_embedding_that_is_counted_and_not_read() -> None:
    found = judged({"tokens_per_second": 68.9, "baseline_tokens_per_second": 68.9}, {"batch": 1, "context": 1})
    assert found.ruling is not Ruling.IMPOSSIBLE
    assert judged({"baseline_tokens_per_second": 70}, {"batch": 1}).ruling is Ruling.IMPOSSIBLE


BAD = [
    ({}, {}, {}, "it gives no number"),
    ({"speed_up": 3}, {}, {}, "a speed-up is given without what it is over"),
    ({"tokens_per_second": 100}, {"model": None}, {}, "tokens a second are given without the model"),
    ({"tokens_per_second": 100}, {"hardware": None}, {}, "tokens a second are given without the hardware"),
    ({"tokens_per_second": 100, "per": "batch"}, {}, {}, "no batch is stated"),
    ({"tokens_per_second": 100}, {"hardware": "8xH100"}, {}, "'8xH100' holds two conditions"),
    ({"tokens_per_second": 100}, {"hardware": "H1000"}, {}, "there is no device 'H1000'"),
    ({"tokens_per_second": 100}, {"model": "Llama-4"}, {}, "there is no model 'Llama-4'"),
    ({"tokens_per_second": 100}, {"precision": "8"}, {}, "does not say whether bits or bytes"),
    ({"tokens_per_second": 100}, {}, {"unstated": ["model"]}, "model is stated under [conditions] and listed as"),
    ({"speed_up": [3.6, 2.3]}, {"baseline": "x"}, {}, "ends below where it begins"),
    (
        {"speed_up": 2.0, "tokens_per_second": 181.74, "baseline_tokens_per_second": 51.14},
        {},
        {},
        "3.55 times as many, and speed_up = 2",
    ),
    (
        {"tokens_per_second": 30, "baseline_tokens_per_second": 60},
        {},
        {},
        "30 tokens/s with speculation are fewer than the 60 without",
    ),
    ({"acceptance_length": 4.5}, {"draft_tokens": 3}, {}, "4.5 tokens a step cannot come of 3 drafts"),
    ({"acceptance_length": 3.4, "acceptance_rate": 0.8}, {"draft_tokens": 4}, {}, "are 4.20 tokens a step"),
]


@pytest.mark.parametrize(("numbers", "conditions", "more", "what"), BAD, ids=[what for *_, what in BAD])
def test_bad_input_is_told_in_words_with_what_to_add(
    numbers: dict[str, Any], conditions: dict[str, Any], more: dict[str, Any], what: str
) -> None:
    with pytest.raises(UsageError) as told:
        judged(numbers, conditions, **more)
    assert what in told.value.message
    assert told.value.hint
    assert told.value.exit_code == 2


@pytest.mark.parametrize("name", shipped_claims())
def test_shipped_claims_are_judged_and_say_where_they_come_from(name: str) -> None:
    found = judge(load_claim(name), name, *TABLES)
    assert found.claim.title
    assert found.questions
    assert found.reasons or found.ruling is Ruling.PLAUSIBLE


def test_a_claim_that_is_no_claim(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"There is no claim 'host-tabel'. Did you mean 'host-table'"):
        load_claim("host-tabel")
    file = tmp_path / "mine.toml"
    file.write_text('wording = "x"\nsource = "y"\ndate = "2024"\n[numbers]\nspeedup = 2\n')
    with pytest.raises(UsageError, match=r"line 5: unknown key 'speedup'. Did you mean 'speed_up'"):
        load_claim(str(file))
    file.write_text('wording = "x"\nsource = "y"\ndate = "2024"\n[numbers]\nspeed_up = inf\n')
    with pytest.raises(UsageError, match="no finite number"):
        load_claim(str(file))
    file.write_text("version = 9\nfuture = 1\n")
    with pytest.raises(UsageError, match="its form is version 9"):
        load_claim(str(file))


def test_long_drafts_are_no_reason_to_refuse() -> None:
    """Whoever edits a file drafts all of it: thirty times as fast is had with a draft of 48, nearly all of it right."""
    assert judged({"speed_up": 30.0}, {"baseline": "plain", "batch": 1}).ruling is Ruling.CONDITIONAL
    # Arithmetic ends it: 1979 TFLOP/s over 2 × 70.6 GFLOP a token are 14,000 tokens a second, whatever is drafted.
    assert judged({"tokens_per_second": 13_000}, {"batch": 1, "context": 128}).ruling is Ruling.CONDITIONAL
    assert judged({"tokens_per_second": 15_000}, {"batch": 1, "context": 128}).ruling is Ruling.IMPOSSIBLE
