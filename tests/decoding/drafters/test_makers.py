from specaudit.decoding.drafters.feature_head import EagleDrafter
from specaudit.decoding.drafters.makers import FittedHead, Lookup


def test_a_lookup_is_made_as_it_is_described():
    made = Lookup(vocabulary_size=7, min_match=2, max_match=4)(3)
    assert (made.vocabulary_size, made.min_match, made.max_match) == (7, 2, 4)


def test_a_head_is_fitted_once(lab):
    maker = FittedHead(target=lab.target, build=lambda target: EagleDrafter(target, seed=5))
    assert maker.vocabulary_size == 32
    assert maker(1) is maker(8)
    assert lab.acceptance(maker(1)).accepted > 4 * lab.unigram.accepted
