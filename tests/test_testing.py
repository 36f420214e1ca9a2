"""Lossless verifiers pass, and every registered fault of a verifier is told with a witness."""

import subprocess
import sys

import numpy as np
import pytest

import specaudit
from specaudit.decoding.verify.block import BlockVerifier
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.one_hot import OneHotVerifier
from specaudit.decoding.verify.sampler_match import SamplerMatchVerifier
from specaudit.decoding.worlds import WORLDS
from specaudit.model.finding import Verdict
from specaudit.mutants import registry
from specaudit.mutants.rule_padding import VocabPadLeak
from specaudit.render.registry import FORMATS, render
from specaudit.testing import assert_lossless, check_verifier

HARMLESS = {"no-bonus"}
"""It costs speed and nothing else."""


def outcome_of(verifier):
    def verify(draft, q, p, num_draft, rng):
        verified = verifier(draft, q, p, num_draft, rng)
        return verified.out, verified.n_out

    return verify


def faulty():
    """Verifiers of the mutants that judge chains by another rule."""
    for name in registry.names():
        mutant = registry.get(name)
        verifier = mutant.build(WORLDS[mutant.world], draft_tokens=3).verifier
        # Some faults are the decoder's own, whose verifier is right.
        if isinstance(verifier, ChainVerifier) and type(verifier) not in (ChainVerifier, SamplerMatchVerifier):
            # The padding of the random worlds is behind five tokens, not behind those of the mutant's own world.
            yield name, VocabPadLeak(5) if name == "vocab-pad-leak" else verifier


FAULTY = dict(faulty())
VERDICTS = {"greedy", "law", "path", "ragged", "padding"}


@pytest.mark.parametrize("verifier", [ChainVerifier, BlockVerifier, OneHotVerifier, SamplerMatchVerifier])
def test_a_lossless_verifier_conforms(verifier):
    report = check_verifier(outcome_of(verifier()))
    assert {finding.check: finding.verdict for finding in report.findings} == dict.fromkeys(VERDICTS, "conforms")
    assert report.exit_code == 0
    assert all(
        count > 1000 for finding in report.findings for count in finding.coverage.values() if verifier is ChainVerifier
    )


@pytest.mark.parametrize("name", sorted(set(FAULTY) - HARMLESS))
def test_every_faulty_verifier_is_told_with_a_witness(name):
    report = check_verifier(outcome_of(FAULTY[name]), rows=40_000)
    told = [finding for finding in report.findings if finding.verdict is Verdict.VIOLATES]
    assert report.exit_code == 1
    assert told
    assert all(finding.witness is not None for finding in told)


def test_all_law_breaking_rules_are_among_them():
    """But for the one whose fault is what the verifier is told, not what it does."""
    rules = {name for name in registry.names() if registry.get(name).family == "rule"} - {"uninitialised-parameters"}
    assert rules <= set(FAULTY)


def test_a_verifier_without_bonus_tokens_is_lossless_and_told_so():
    report = check_verifier(outcome_of(FAULTY["no-bonus"]))
    assert report.exit_code == 0
    (path,) = [finding for finding in report.findings if finding.check == "path"]
    assert path.coverage["bonus tokens drawn"] == 0
    assert path.notes == ("it never happens: bonus tokens drawn",)


def test_a_fault_of_little_more_than_the_tolerance_is_seen():
    def one_in_45_follows_the_draft(draft, q, p, num_draft, rng):
        out, n_out = outcome_of(ChainVerifier())(draft, q, p, num_draft, rng)
        rows = np.flatnonzero((rng.random(len(draft)) < 1 / 45) & (num_draft > 0))
        out[rows, 0], out[rows, 1:], n_out[rows] = draft[rows, 0], -1, 1
        return out, n_out

    report = check_verifier(one_in_45_follows_the_draft)
    (law,) = [finding for finding in report.findings if finding.check == "path"]
    assert 0.01 < law.effect.value < 0.03
    assert law.verdict is Verdict.VIOLATES


def rows_swapped(draft, q, p, num_draft, rng):
    """Rows of equal length below the largest get each other's tokens."""
    out, n_out = outcome_of(ChainVerifier())(draft, q, p, num_draft, rng)
    short = np.flatnonzero(num_draft == 2)
    out[short], n_out[short] = out[np.roll(short, 1)], n_out[np.roll(short, 1)]
    return out, n_out


def one_coin_for_all_rows(draft, q, p, num_draft, rng):
    class Shared:
        def random(self, shape):
            return np.broadcast_to(rng.random((1, shape[1])), shape).copy()

    return outcome_of(ChainVerifier())(draft, q, p, num_draft, Shared())


def coins_shared_by_two(draft, q, p, num_draft, rng):
    class Shared:
        def random(self, shape):
            return np.repeat(rng.random((-(-shape[0] // 2), shape[1])), 2, axis=0)[: shape[0]]

    return outcome_of(ChainVerifier())(draft, q, p, num_draft, Shared())


def test_neighbours_that_share_their_coins_are_told_as_a_pair():
    (ragged,) = [one for one in check_verifier(coins_shared_by_two).findings if one.check == "ragged"]
    *places, neighbours = ragged.views
    assert neighbours.effect.low > 0
    assert all(place.effect.low == 0 for place in places)
    assert "the first tokens of two neighbouring rows" in ragged.summary


@pytest.mark.parametrize("verify", [rows_swapped, one_coin_for_all_rows])
def test_rows_that_depend_on_each_other_are_told(verify):
    verdicts = {finding.check: finding.verdict for finding in check_verifier(verify, rows=40_000).findings}
    assert verdicts["ragged"] is Verdict.VIOLATES


def unpadded(draft, q, p, num_draft, rng):
    out, n_out = outcome_of(ChainVerifier())(draft, q, p, num_draft, rng)
    return np.where(out < 0, 0, out), n_out


def test_an_outcome_that_is_not_padded_ends_the_check():
    report = check_verifier(unpadded)
    (finding,) = report.findings
    assert finding.check == "padding"
    assert finding.verdict is Verdict.VIOLATES
    assert "behind the last token, is 0, not -1" in finding.summary


def test_assert_lossless_passes_or_tells_the_witness():
    assert_lossless(outcome_of(ChainVerifier()))
    with pytest.raises(AssertionError) as caught:
        assert_lossless(outcome_of(FAULTY["resid-from-target"]), rows=40_000)
    message = str(caught.value)
    assert message.startswith("outcome_of.<locals>.verify is not shown to be lossless.")
    assert "law violates: Steps" in message
    assert "Witness: tokens" in message
    assert "greedy" not in message


def test_too_few_rows_are_not_enough_to_assert():
    with pytest.raises(AssertionError, match=r"Steps, .* are only bounded within"):
        assert_lossless(outcome_of(ChainVerifier()), rows=2000)


def test_the_same_check_gives_the_same_report():
    first, again, other = (
        check_verifier(outcome_of(ChainVerifier()), rows=2000, seed=seed).evidence_digest for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_the_report_is_written_like_any_other(name):
    assert "path" in render(name, check_verifier(outcome_of(ChainVerifier()), rows=2000))


@pytest.mark.parametrize(("options", "message"), [({"rows": 999}, "at least 1,000"), ({"alpha": 0.5}, "error budget")])
def test_options_that_show_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        check_verifier(outcome_of(ChainVerifier()), **options)


def test_an_error_of_the_verifier_is_its_own():
    def broken(draft, q, p, num_draft, rng):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        check_verifier(broken)


def test_the_package_offers_both_and_imports_nothing_until_asked():
    assert specaudit.check_verifier is check_verifier
    assert specaudit.assert_lossless is assert_lossless
    with pytest.raises(AttributeError, match="no attribute 'check_verifiers'"):
        _ = specaudit.check_verifiers
    code = "import sys, specaudit; sys.exit('numpy' in sys.modules or 'specaudit.testing' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_tensor_library_is_imported():
    code = "import sys, specaudit.testing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
