import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.models.weights import Shape
from specaudit.decoding.precision import Float8, Precision, QuantisedTransformer
from specaudit.decoding.processors import softmax
from specaudit.decoding.sampling import inverse_cdf
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.mutants.precision import Fp8BatchScale
from tests.decoding.models.reading import prompts, read_all, read_on

FULL = Transformer.from_seed(Shape(vocabulary=16, width=32, layers=3), seed=1)
VALUES = {
    Float8.E4M3: [s * m / 8 * 2.0**e for s in (-1, 1) for e in range(-6, 9) for m in range(8, 16) if (e, m) != (8, 15)]
    + [s * m * 2.0**-9 for s in (-1, 1) for m in range(8)],
    Float8.E5M2: [s * m / 4 * 2.0**e for s in (-1, 1) for e in range(-14, 16) for m in range(4, 8)]
    + [s * m * 2.0**-16 for s in (-1, 1) for m in range(4)],
}


def drafts_of_four(model):
    """Laws of four tokens behind 20 others: verified all at once, and read one by one."""
    tokens = prompts(np.random.default_rng(2), 6, 24, 16)
    laws = []
    for chunks in ([4], [1, 1, 1, 1]):
        cache, slots = model.cache(6), np.arange(6)
        read_on(model, cache, slots, tokens[:, :20])
        parts = np.split(tokens[:, 20:], np.cumsum(chunks)[:-1], axis=1)
        laws.append(np.concatenate([softmax(read_on(model, cache, slots, part).logits) for part in parts], axis=1))
    return laws


def tv(p, q):
    return np.abs(p - q).sum(axis=-1) / 2


@pytest.mark.parametrize(("format_", "largest"), [(Float8.E4M3, 448), (Float8.E5M2, 57344)])
@settings(max_examples=40, deadline=None)
@given(values=arrays(np.float64, 5, elements=st.floats(-1e5, 1e5, width=32)))
def test_rounding_goes_to_the_nearest_of_the_values_of_the_format(format_, largest, values):
    grid = np.array(VALUES[format_])
    assert grid.max() == largest == format_.largest
    rounded = format_.rounded(values)
    assert np.isin(rounded, grid).all()
    nearest = np.abs(values[:, None] - grid).min(axis=1)
    assert (np.abs(values - rounded) == nearest).all()


def test_a_scale_uses_the_whole_range_and_is_shared_along_the_axis():
    values = np.array([[1.0, 100.0], [0.0005, 0.0]])
    assert (np.abs(Float8.E4M3.scaled(values, axis=1) / np.where(values, values, 1) - (values != 0)) <= 1 / 16).all()
    shared = Float8.E4M3.scaled(values, axis=None)
    assert shared[0, 1] == pytest.approx(100)
    assert shared[1, 0] != pytest.approx(0.0005, rel=1 / 16), "below the smallest normal of the common scale"
    assert (Float8.E5M2.scaled(np.zeros((2, 0)), axis=None) == 0).all()


@pytest.mark.parametrize(
    "precision",
    [
        Precision(activations=None),
        Precision(weights=None),
        Precision(),
        Precision(weights=Float8.E5M2, activations=Float8.E5M2),
        Precision(weights=None, activations=None, kv=Float8.E4M3),
        Precision(kv=Float8.E5M2),
    ],
)
def test_each_part_that_is_quantised_moves_the_law_and_verification_width_does_not(precision):
    at_once, one_by_one = drafts_of_four(QuantisedTransformer(FULL, precision))
    assert (at_once == one_by_one).all()
    assert 0.005 < tv(at_once, drafts_of_four(FULL)[0]).mean() < 0.3


def test_the_cache_holds_nothing_that_its_format_does_not():
    model = QuantisedTransformer(FULL, Precision(weights=None, activations=None, kv=Float8.E4M3))
    cache, slot = model.cache(1), np.array([0])
    read_on(model, cache, slot, prompts(np.random.default_rng(7), 1, 16, 16))
    for entries in cache.read(2, slot, 1):
        assert entries.all()
        assert np.isin(entries, VALUES[Float8.E4M3]).all()


def test_without_any_format_nothing_is_quantised():
    plain = QuantisedTransformer(FULL, Precision(weights=None, activations=None))
    assert (drafts_of_four(plain)[0] == drafts_of_four(FULL)[0]).all()


def test_fewer_mantissa_bits_are_coarser():
    far, near = (
        tv(drafts_of_four(QuantisedTransformer(FULL, Precision(weights=f, activations=f)))[0], drafts_of_four(FULL)[0])
        for f in (Float8.E5M2, Float8.E4M3)
    )
    assert far.mean() > 1.5 * near.mean()


def test_a_scale_over_the_whole_tensor_makes_the_law_depend_on_the_verification_width():
    at_once, one_by_one = drafts_of_four(QuantisedTransformer(FULL, Precision(scope="tensor")))
    assert tv(at_once, one_by_one).mean() > 0.005
    assert tv(at_once, one_by_one).max() > 0.02


def test_weights_have_a_scale_per_output_channel():
    before, after = FULL.weights.layers[1], QuantisedTransformer(FULL, Precision()).weights.layers[1]
    for name in ("qkv", "output", "gate_up", "down"):
        matrix, rounded = getattr(before, name), getattr(after, name)
        column = Float8.E4M3.scaled(matrix[:, 7], axis=None)
        assert (rounded[:, 7] == column).all()
        assert (rounded != Float8.E4M3.scaled(matrix, axis=None)).any()


def test_what_is_quantised_can_be_truncated():
    quantised = QuantisedTransformer(FULL, Precision())
    tokens = prompts(np.random.default_rng(3), 2, 9, 16)
    cut, again = quantised.truncated(2), QuantisedTransformer(FULL.truncated(2), Precision())
    assert (read_all(cut, tokens).logits == read_all(again, tokens).logits).all()
    assert (read_all(cut, tokens).logits != read_all(FULL.truncated(2), tokens).logits).any()


def test_what_is_quantised_stays_quantised_when_noise_is_added():
    quantised = QuantisedTransformer(FULL, Precision())
    noisy = quantised.perturbed(0.1, seed=5)
    assert isinstance(noisy, QuantisedTransformer)
    for before, after in zip(quantised.weights.layers, noisy.weights.layers, strict=True):
        assert (before.qkv != after.qkv).any()
        for name in ("qkv", "output", "gate_up", "down"):
            matrix = getattr(after, name)
            np.testing.assert_allclose(Float8.E4M3.scaled(matrix, axis=0), matrix, rtol=1e-12)


@pytest.mark.parametrize("kind", [QuantisedTransformer, Fp8BatchScale])
def test_a_quantised_model_from_a_seed_is_the_full_one_quantised(kind):
    shape, tokens = Shape(vocabulary=16, width=32, layers=2), prompts(np.random.default_rng(3), 2, 9, 16)
    full = Transformer.from_seed(shape, seed=4)
    model, again = kind.from_seed(shape, seed=4), kind(full)
    assert type(model) is kind
    assert (read_all(model, tokens).logits == read_all(again, tokens).logits).all()
    assert (read_all(model, tokens).logits != read_all(full, tokens).logits).any()


def emitted_law(drawn, declared, p, draws=400_000):
    """Law of the first token that speculation with one draft emits, estimated; standard error of the TV below .003."""
    rng = np.random.default_rng(4)
    draft = inverse_cdf(np.broadcast_to(drawn, (draws, 16)), rng.random(draws))[:, None]
    laws = (np.broadcast_to(x, (draws, n, 16)) for x, n in ((declared, 1), (p, 2)))
    out = ChainVerifier()(draft, *laws, np.ones(draws, dtype=int), rng).out[:, 0]
    return np.bincount(out, minlength=16) / draws


def test_an_fp8_drafter_alone_breaks_nothing_unless_its_law_is_declared_in_another_precision():
    drafter = FULL.perturbed(0.1, seed=5)
    coarse = QuantisedTransformer(drafter, Precision(weights=Float8.E5M2, activations=Float8.E5M2))
    tokens = prompts(np.random.default_rng(6), 8, 12, 16)
    p, full, fp8 = (softmax(read_all(model, tokens).logits)[:, -1] for model in (FULL, drafter, coarse))
    row = int(tv(full, fp8).argmax())
    assert tv(fp8[row], full[row]) > 0.1
    assert tv(emitted_law(fp8[row], fp8[row], p[row]), p[row]) < 0.006
    assert tv(emitted_law(fp8[row], full[row], p[row]), p[row]) > 0.03
