"""The nearest valid name is offered, and none where none is near."""

from specaudit.model.nearest import nearest


def test_a_slip_is_mended():
    assert nearest("tolerence", ["tolerance", "prompts"]) == " Did you mean 'tolerance'?"


def test_a_stranger_is_not():
    assert nearest("zzz", ["tolerance", "prompts"]) == ""
