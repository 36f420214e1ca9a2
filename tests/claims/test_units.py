import pytest

from specaudit.claims.precisions import precision_named
from specaudit.claims.units import quantity
from specaudit.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("80 GB", "memory", 80e9),
        ("80 GiB", "memory", 80 * 2**30),
        ("4.8 TB/s", "bandwidth", 4.8e12),
        ("4800GB/s", "bandwidth", 4.8e12),
        ("7200 Gbit/s", "bandwidth", 900e9),
        ("7200 Gbps", "bandwidth", None),
        ("989 TFLOP/s", "compute", 989e12),
        ("989 TFLOPS", "compute", 989e12),
        ("1.979 PFLOPS", "compute", 1979e12),
        ("900 Gb/s", "bandwidth", None),
        ("80 Gb", "memory", None),
        ("80", "memory", None),
        ("80 gb", "memory", None),
        ("4.8 TB", "bandwidth", None),
        ("0 GB", "memory", None),
        ("-1 GB", "memory", None),
        ("nan GB", "memory", None),
        ("989", "compute", None),
    ],
)
def test_units(text: str, kind: str, value: float | None) -> None:
    if value is not None:
        assert quantity(text, kind, "it") == pytest.approx(value)  # type: ignore[arg-type]
        return
    with pytest.raises(UsageError, match=r"^it: ") as told:
        quantity(text, kind, "it")  # type: ignore[arg-type]
    assert "Write it as" in told.value.hint


def test_bits_that_may_be_bytes_are_told() -> None:
    with pytest.raises(UsageError, match="may mean bits or bytes"):
        quantity("900 Gb/s", "bandwidth", "link")


@pytest.mark.parametrize("name", ["8", "fp9", "half"])
def test_what_is_no_precision(name: str) -> None:
    with pytest.raises(UsageError) as told:
        precision_named(name)
    assert "bf16" in told.value.hint


def test_precisions_are_found_in_any_case() -> None:
    assert precision_named("FP8").bytes == 1
    assert precision_named("int4").arithmetic == ("bf16",)
