"""What a calibration comes to, in sentences and in rows."""

import pytest

from specaudit.render.calibration import columns, conclusions, over_stein, rows
from tests.render.calibrations import calibration


def test_conclusions_tell_every_exception_with_its_reason():
    assert list(conclusions(calibration())) == [
        "1 of 3 mutants were killed.",
        "mutant:none survives; it needs LAW9, which is still to come.",
        "mutant:boom crashed under LAW1 (exact): ValueError: <b>\x1b[31mboom</b>",
        "1 of 1 controls and correct decoders were accused.",
        "control:odd was accused by CTR1 (any): It cannot be.",
        "2 of 3 methods are as they should be.",
        "1 of 2 medians to a verdict are within what is allowed.",
    ]


def test_a_calibration_of_nothing_concludes_nothing():
    nothing = calibration(kills=(), survivors=(), accused=(), crashed=(), methods=(), speeds=(), divergences=())
    assert list(conclusions(nothing)) == []
    assert rows(nothing) == []
    assert columns(nothing) == []


def test_columns_keep_the_order_of_checks_and_levels():
    assert columns(calibration()) == [("LAW1", "exact"), ("LAW1", "sampled"), ("CTR1", "any")]


def test_rows_hold_the_stein_limit_and_the_quickest_kill_first():
    one, none, boom, _odd = rows(calibration())
    assert one.stein == pytest.approx(200)
    assert [kill.tokens for kill in one.kills] == [100, 432, 12_345]
    assert none.stein is None
    assert none.kills == boom.kills == []


@pytest.mark.parametrize(
    ("tokens", "stein", "told"), [(300, 200.0, "1.5"), (None, 200.0, ""), (300, None, ""), (0, 200.0, "0.0")]
)
def test_multiples_of_the_limit_where_there_is_one(tokens, stein, told):
    assert over_stein(tokens, stein) == told
