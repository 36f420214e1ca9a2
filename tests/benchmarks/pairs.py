"""How many tokens bets on pairs of completions need, where only the reference's draws are known.

Run it: python -m tests.benchmarks.pairs [AUDITS].

Completions of the embedded decoder, of a fault and of the plain target, are paired until the arms are told apart at
LAW1's share of a budget of 1e-3. The baseline in the same run bets on two neighbouring tokens at each of seven depths
alone; beside it all tokens of a completion speak together, as chains that are learnt from earlier pairs.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from specaudit.calibrate.power import DICTIONARY, LENGTH, completions, decoder, reference_of
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.model.request import Sampling
from specaudit.stats.evalues.pairs import PairProcess
from specaudit.stats.evalues.sequences import SequencePairs

FAULTS = (
    *[name for name in DICTIONARY if ":0." not in name],
    "mutant:draft0-unverified",
    "mutant:accept-after-mismatch",
)
DEPTHS = (0, 1, 3, 4, 8, 9, 14)
SIZE = 4
ALPHA = 5e-4
MOST = 1024
"""Pairs of an audit."""

Rows = NDArray[np.int64]


def drawn(subject: SpeculativeDecoder, audits: int, seed: int) -> Rows:
    """Completions by audit `[audits, MOST, LENGTH]`."""
    rows = np.concatenate(list(completions(subject, Sampling(), seed=seed, most=audits * MOST)))
    return rows.reshape(audits, MOST, LENGTH)


def needed(ours: Rows, theirs: Rows, *, together: bool) -> int:
    """Return the subject's tokens after which the arms are told apart; those of one pair more than all where never."""
    bets = SequencePairs(SIZE)
    names = {f"tokens {depth + 1} and {depth + 2}": SIZE**2 for depth in DEPTHS}
    process = PairProcess(names, others=bets.names if together else ())
    cells = [np.column_stack([rows[:, i] * SIZE + rows[:, i + 1] for i in DEPTHS]) for rows in (ours, theirs)]
    process.fold(*cells, others=bets.fold(ours, theirs) if together else None)
    at = process.rejected_at(ALPHA)
    return LENGTH * (MOST + 1 if at is None else at)


def main() -> None:
    """Print one line per fault."""
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    theirs = drawn(reference_of(FAULTS[0]), audits, 5 * 10**7)
    print(f"{'':<30}{'two tokens at a depth':>36}{'and all tokens together':>36}")
    print(f"{'':<30}" + f"{'median':>12}{'of 9 in 10':>12}{'all':>12}" * 2)
    for number, name in enumerate((*FAULTS, "none")):
        subject = reference_of(FAULTS[0]) if name == "none" else decoder(name)
        ours = drawn(subject, audits, (10 + number) * 10**7)
        line = f"{name:<30}"
        for together in (False, True):
            found = np.array([needed(a, b, together=together) for a, b in zip(ours, theirs, strict=True)])
            told = (np.median(found), np.quantile(found, 0.9), found.max())
            line += "".join(f"{'never' if at > LENGTH * MOST else f'{at:,.0f}':>12}" for at in told)
        print(line, flush=True)


if __name__ == "__main__":
    main()
