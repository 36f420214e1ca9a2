"""What an audit costs before it is run: draws for a verdict, the smallest deviation seen, and the least possible.

**Chi-square at a planned N.** `completions_needed` (to conform), `draws_to_detect` (to violate) and `detectable_tv`
follow from the noncentrality that a total variation forces upon X². By the Cauchy–Schwarz argument in
`specaudit.stats.distance`, a mean TV of τ over strata means λ ≥ 4 h τ², whatever the direction of the deviation,
with h = n in one sample and h = n/2 in two samples of n draws an arm; equality holds where |r_c/p_c - 1| is
2τ in every cell. All expected counts are assumed to be at least 5. Against the law r of one fault,
`draws_to_detect_fault` uses λ = h Σ_c (r_c - p_c)² / p_c itself.

**Least possible.** Any test, sequential or not, that rejects p with probability α at most and the fault r with
probability 1 - β at least has (Wald 1945, by data processing)

    E_r[N] · KL(r‖p) ≥ (1 - β) ln((1 - β)/α) + β ln(β/(1 - α)),

which is ln(1/α) at power 1: the Stein limit. Betting on r alone reaches it up to the overshoot of the last draw; a
portfolio that gives r the weight w takes ln(1/w)/KL more on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, chdtri, rel_entr, xlogy

from specaudit.stats.noncentral import noncentrality_at
from specaudit.stats.strata import Law, check_counts, check_laws


def completions_needed(dof: int, tolerance: float, *, delta: float, success: float, samples: Literal[1, 2] = 1) -> int:
    """Smallest number of draws (per arm) at which a conforming subject is shown to conform.

    Under exact equality X² stays below the `success` quantile x of χ²_dof with that probability; the upper bound
    of TV is then at most ½√(λ_up(x)/h), which must not exceed the tolerance.

    Args:
        dof: Degrees of freedom: Σ over strata of cells - 1, e.g. 63 for one prompt and 64 cells.
        tolerance: Total variation to stay below; subtract the mass of lumped tails beforehand.
        delta: Probability with which the bound may fail.
        success: Wanted probability of `conforms` under exact equality.
        samples: 1 if the law is known, 2 if a reference arm of the same size is drawn.

    Returns:
        Draws (words, completions) in all strata together, per arm.

    Raises:
        ValueError: dof below 1, or the tolerance or a probability not inside (0, 1).
    """
    _check_fractions(tolerance=tolerance, delta=delta, success=success)
    x = _chi_square_quantile(dof, upper_tail=1 - success)
    return max(1, ceil(samples * noncentrality_at(x, dof, delta) / (4 * tolerance**2)))


def detectable_tv(completions: int, dof: int, *, alpha: float, power: float, samples: Literal[1, 2] = 1) -> float:
    """Smallest mean TV that a chi-square test at level `alpha` sees with at least the given power.

    With λ the noncentrality at which P(χ'²_dof(λ) > critical value) = power this is ½√(λ/h). A deviation of that
    TV has noncentrality 4 h TV² = λ or more, and power grows with λ: whatever its direction, it is seen at
    least so often. Many smaller deviations, those that favour rare cells, are seen as well.

    Args:
        completions: Draws in all strata together, per arm.
        dof: Degrees of freedom of the test.
        alpha: Level of the test.
        power: Wanted probability of rejection.
        samples: 1 if the law is known, 2 if a reference arm of the same size is drawn.

    Raises:
        ValueError: dof or `completions` below 1, or a probability not inside (0, 1).
    """
    if completions < 1:
        raise ValueError("a test without completions sees nothing")
    return min(1.0, sqrt(samples * _noncentrality(dof, alpha, power) / completions) / 2)


def draws_to_detect(tv: float, dof: int, *, alpha: float, power: float, samples: Literal[1, 2] = 1) -> int:
    """Draws (per arm) with which a chi-square test sees every mean TV of that size, whatever its direction.

    Args:
        tv: Mean total variation over strata.
        dof: Degrees of freedom of the test.
        alpha: Level of the test.
        power: Wanted probability of rejection.
        samples: 1 if the law is known, 2 if a reference arm of the same size is drawn.

    Raises:
        ValueError: dof below 1, or the TV or a probability not inside (0, 1).
    """
    _check_fractions(tv=tv)
    return max(1, ceil(samples * _noncentrality(dof, alpha, power) / (4 * tv**2)))


def draws_to_detect_fault(law: npt.ArrayLike, fault: npt.ArrayLike, *, alpha: float, power: float) -> int:
    """Draws with which a one-sample chi-square test on the law's cells sees one fault.

    Args:
        law: pmf p of what ought to be drawn `[C]`.
        fault: pmf r of what the faulty subject draws `[C]`.
        alpha: Level of the test.
        power: Wanted probability of rejection.

    Returns:
        Draws; 1 if the fault draws what the law cannot.

    Raises:
        ValueError: the pmfs are none or do not match, they are the same, or a probability is not inside (0, 1).
    """
    p, r = _pmfs(law, fault)
    noncentrality = _noncentrality(int(np.count_nonzero(p)) - 1, alpha, power)
    if (r[p == 0] > 0).any():
        return 1
    kept = p > 0
    effect = float((np.square(r[kept] - p[kept]) / p[kept]).sum())
    if effect == 0:
        raise ValueError("the fault has the law itself, so no number of draws detects it")
    return max(1, ceil(noncentrality / effect))


def kl_divergence(fault: npt.ArrayLike, law: npt.ArrayLike) -> float:
    """KL(r‖p) = Σ_c r_c ln(r_c/p_c) in nats a draw; infinite if the fault r `[C]` draws what the law p `[C]` cannot.

    Raises:
        ValueError: the pmfs are none or do not match.
    """
    p, r = _pmfs(law, fault)
    return float(rel_entr(r, p).sum())


def stein_limit(kl: float, *, alpha: float, power: float = 1.0, weight: float = 1.0) -> float:
    """Mean number of draws below which no test of that level and power can detect a fault.

    Args:
        kl: KL(fault‖law) in nats a draw. For the worst fault of a total variation τ, 2τ² is less (Pinsker).
        alpha: Level of the test.
        power: Probability of rejection; 1 for a sequential test that goes on until it rejects.
        weight: Weight w of the fault in a portfolio that rejects at 1/α, which adds ln(1/w)/KL.

    Returns:
        Mean draws; infinite if the KL is 0, as is that of no fault.

    Raises:
        ValueError: the KL is negative or NaN, α not inside (0, 1), the power not in (α, 1] or the weight not in (0, 1].
    """
    _check_fractions(alpha=alpha)
    if not kl >= 0:
        raise ValueError(f"a divergence cannot be {kl}")
    if not alpha < power <= 1:
        raise ValueError(f"the power must be above alpha and at most 1, got {power}")
    if not 0 < weight <= 1:
        raise ValueError(f"a weight must be in (0, 1], got {weight}")
    needed = power * log(power / alpha) + xlogy(1 - power, (1 - power) / (1 - alpha)) - log(weight)
    return float(needed / kl) if kl else inf


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What draws cost, all arms together.

    Attributes:
        requests: Requests sent.
        prompt_tokens: Tokens in prompts, counted once a request as they are billed.
        completion_tokens: Tokens generated, if no completion stops early.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


def cost(
    completions: int, *, tokens: int, arms: int = 1, choices: int = 1, prompt_tokens: int | Sequence[int] = 0
) -> Cost:
    """Requests and tokens of that many completions per arm.

    Args:
        completions: Completions per arm.
        tokens: Tokens per completion, at most.
        arms: Arms that are asked the same.
        choices: Completions asked for in one request.
        prompt_tokens: Tokens of the prompt, or of each of several prompts that take turns.

    Raises:
        ValueError: a number is below 1, or a prompt has a negative number of tokens.
    """
    lengths = np.atleast_1d(np.asarray(prompt_tokens, dtype=np.int64))
    if min(completions, tokens, arms, choices, lengths.size) < 1 or (lengths < 0).any():
        raise ValueError("a cost needs at least one completion, token, arm, choice and prompt")
    requests = ceil(completions / choices)
    rounds, rest = divmod(requests, lengths.size)
    asked = int(rounds * lengths.sum() + lengths[:rest].sum())
    return Cost(requests=arms * requests, prompt_tokens=arms * asked, completion_tokens=arms * completions * tokens)


def _pmfs(law: npt.ArrayLike, fault: npt.ArrayLike) -> tuple[Law, Law]:
    cells = check_counts([np.zeros(np.shape(law))], "law")
    return check_laws([law], cells)[0], check_laws([fault], cells)[0]


def _noncentrality(dof: int, alpha: float, power: float) -> float:
    """The λ at which a chi-square test of level α rejects with that power."""
    _check_fractions(alpha=alpha, power=power)
    return noncentrality_at(_chi_square_quantile(dof, upper_tail=alpha), dof, 1 - power)


def detectable_share(trials: int, above: float, *, alpha: float, power: float) -> float:
    """Smallest probability of an event whose Clopper-Pearson lower bound exceeds a share with at least the given power.

    The bound exceeds the share from some number of events k on; the event's probability is then the one at which k
    of them or more have probability `power`: the `power` quantile of Beta(k, trials - k + 1).

    Args:
        trials: Independent trials.
        above: The share; with 0 a single event is enough.
        alpha: Error probability of the bound.
        power: Wanted probability that the bound exceeds the share.

    Returns:
        A probability; 1 where even as many events as trials are not enough.

    Raises:
        ValueError: no trials, or a probability not inside (0, 1).
    """
    _check_fractions(alpha=alpha, power=power)
    if trials < 1:
        raise ValueError("without trials nothing is seen")
    events = np.arange(1, trials + 1)
    enough = np.ones(trials, dtype=bool) if above <= 0 else betaincinv(events, trials - events + 1, alpha) > above
    if not enough.any():
        return 1.0
    least = int(events[enough][0])
    return float(betaincinv(least, trials - least + 1, power))


def _chi_square_quantile(dof: int, *, upper_tail: float) -> float:
    if dof < 1:
        raise ValueError(f"a chi-square test needs at least one degree of freedom, got {dof}")
    return float(chdtri(dof, upper_tail))


def _check_fractions(**fractions: float) -> None:
    for name, value in fractions.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must be inside (0, 1), got {value}")
