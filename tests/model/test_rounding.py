"""Every float of a record, however deep, is rounded; nothing else is touched."""

from specaudit.model.finding import Effect, Finding, Verdict, Witness
from specaudit.model.mapping import mapped
from specaudit.model.rounding import rounded

THIRD = 1 / 3


def test_floats_are_rounded_wherever_they_stand():
    finding = Finding(
        check="LAW1",
        verdict=Verdict.CONFORMS,
        required=True,
        summary="one third is 0.33333333333",
        effect=Effect(name="x", value=THIRD, low=None, high=1e-9 * THIRD, confidence=0.999),
        measured={"third": 1e6 * THIRD},
        coverage={"steps": 123456789},
        witness=Witness(what="w", observed=THIRD, expected=None, unit=""),
    )
    result = rounded(finding)
    assert result.effect is not None
    assert result.effect.value == 0.333333
    assert result.effect.high == 3.33333e-10
    assert result.measured == {"third": 333333.0}
    assert result.coverage == {"steps": 123456789}
    assert result.witness is not None
    assert result.witness.observed == 0.333333
    assert result.summary == finding.summary
    assert result.verdict is Verdict.CONFORMS


def test_rounding_twice_changes_nothing():
    effect = Effect(name="x", value=THIRD, low=2 * THIRD, high=None, confidence=0.999)
    assert rounded(rounded(effect)) == rounded(effect)


def test_every_leaf_is_reached_and_names_of_fields_are_not():
    effect = Effect(name="a", value=1.0, low=None, high=None, confidence=0.9, unit="b")
    shouted = mapped({"k": (effect,)}, lambda leaf: leaf.upper() if isinstance(leaf, str) else leaf)
    assert shouted["K"][0].name == "A"
    assert shouted["K"][0].unit == "B"
    assert shouted["K"][0].value == 1.0
