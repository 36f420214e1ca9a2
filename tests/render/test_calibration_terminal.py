"""A calibration at a terminal."""

from specaudit.render.calibration_terminal import render_calibration
from tests.render.calibrations import calibration


def lines(found, **options):
    return render_calibration(found, **{"width": 120, **options}).splitlines()


def test_conclusions_come_first_then_tables():
    told = lines(calibration())
    assert told[0] == "NOT AS IT SHOULD BE  specaudit 1.2.3, seed 7, quick"
    assert told[1] == "1 of 3 mutants were killed."
    (one,) = [line.split() for line in told if line.startswith("mutant:one   ") and "CTR1" in line]
    assert one == ["mutant:one", "CTR1,", "LAW1", "100", "2.2"]
    assert [line.split()[-1] for line in told if line.startswith("mutant:boom  ")] == ["crashed"]
    assert any(line.split() == ["mutant:none", "nothing"] for line in told)
    assert any(line.startswith("a test (false alarm)") and line.endswith("kept") for line in told)
    assert any(
        line.startswith("a bound (false conforms)") and "150 of 2,000" in line and "BROKEN" in line for line in told
    )
    assert any("naive" in line and "caught, as it must be" in line for line in told)
    assert any("left out" in line and "no verdict" in line and "slower" in line for line in told)


def test_a_quick_calibration_says_which_checks_it_leaves_out():
    told = lines(calibration(left_out=("LAW5", "LAW6")))
    assert "LAW5 and LAW6 cost too much for a quick calibration: no subject was judged by them." in told
    assert not any("too much for" in line for line in lines(calibration()))


def test_what_passed_is_said_so_and_empty_tables_are_left_out():
    told = lines(calibration(passed=True, quick=False, methods=(), speeds=()))
    assert told[0] == "CALIBRATED  specaudit 1.2.3, seed 7"
    assert not any(line.startswith(("method", "fault")) for line in told)


def test_a_crash_cannot_colour_the_terminal():
    assert "\x1b" not in render_calibration(calibration(), width=80)
    assert "\\x1b[31mboom" in render_calibration(calibration(), width=200)
