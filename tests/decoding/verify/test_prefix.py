import pytest

from specaudit.decoding.verify.prefix import accepted_prefix


@pytest.mark.parametrize(
    ("p", "q", "r", "accepted"),
    [
        ([0.9, 0.2, 0.8], [0.5, 0.8, 0.4], [0.1, 0.5, 0.2], 1),
        ([0.5, 0.5], [0.5, 0.5], [0.3, 0.9], 2),
        ([0.9, 0.9], [0.3, 0.3], [0.99, 0.99], 2),
        ([0.5], [1], [0.5], 1),
        ([0.1], [0.9], [0.5], 0),
        ([], [], [], 0),
        ([0.3, 0.2], [0, 0.8], [0.9, 0.9], 1),
        ([0.2, 0.9], [0.8, 0.3], [0.9, 0.1], 0),
    ],
)
def test_cases(p, q, r, accepted):
    assert accepted_prefix(p, q, r) == accepted


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="shorter"):
        accepted_prefix([0.5, 0.5], [0.5], [0.5, 0.5])
