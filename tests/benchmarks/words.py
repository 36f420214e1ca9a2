"""300,000 three-token words: decoded in process, counted and tested. Run it: python -m tests.benchmarks.words.

The baseline in the same run is the decoder as one would first write it: one request at a time, one draft at a time,
with numpy's own choice. It decodes a fiftieth of the words, and its time is scaled up.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.worlds import MARKOV4
from specaudit.laws.contexts import ExactLaws
from specaudit.laws.words import word_law
from specaudit.model.law import RevealedLaw
from specaudit.model.request import Sampling
from specaudit.stats.distance import tv_from_law, tv_upper_bound
from specaudit.stats.goodness import goodness_of_fit
from specaudit.stats.histogram import count_words, word_index

WORDS, LENGTH, DRAFTS, SIZE = 300_000, 3, 3, 4
CAP = LENGTH + 1
"""A step drafts at most one token less than the cap leaves room for, so that three are drafted under a cap of four."""
BASELINE_SHARE = 50
RUNS = 5


def vectorised(words: int) -> np.ndarray:
    """Words of the shipped decoder `[words, LENGTH]`, drafted from the first token on."""
    decoder = SpeculativeDecoder(MARKOV4, draft_tokens=DRAFTS, first_token="drafted")
    return decoder.generate(np.empty((words, 0), dtype=np.int64), np.arange(words), max_tokens=CAP).tokens[:, :LENGTH]


def one_by_one(words: int) -> np.ndarray:
    """Words of the textbook loop `[words, LENGTH]`, the reference that the ratio is against."""
    rng = np.random.default_rng(0)
    target = np.exp(MARKOV4.target.logits(np.arange(-1, SIZE)))
    drafter = np.exp(MARKOV4.drafter.model.logits(np.arange(-1, SIZE)))
    out = np.empty((words, LENGTH), dtype=np.int64)
    for row in range(words):
        emitted: list[int] = []
        while len(emitted) < CAP:
            last = emitted[-1] if emitted else -1
            drafts: list[int] = []
            for _ in range(min(DRAFTS, CAP - len(emitted) - 1)):
                law = drafter[(drafts[-1] if drafts else last) + 1]
                drafts.append(int(rng.choice(SIZE, p=law)))
            for draft in drafts:
                p, q = target[last + 1], drafter[last + 1]
                if rng.random() * q[draft] < p[draft]:
                    emitted.append(draft)
                    last = draft
                    continue
                residual = np.maximum(p - q, 0)
                emitted.append(int(rng.choice(SIZE, p=residual / residual.sum())))
                break
            else:
                emitted.append(int(rng.choice(SIZE, p=target[last + 1])))
        out[row] = emitted[:LENGTH]
    return out


def counted_and_tested(tokens: np.ndarray) -> str:
    """Count the words, test them against the exact law, and bound their total variation."""
    table = MARKOV4.target.logits(np.arange(-1, SIZE)).tolist()
    law = RevealedLaw(order=1, contexts=((), (0,), (1,), (2,), (3,)), logprobs=tuple(map(tuple, table)))
    words = word_law(ExactLaws(law, Sampling()), (), 0, LENGTH)
    assert words is not None
    cells = word_index(np.array(list(words)), 0, LENGTH, SIZE)
    counts = count_words(tokens, 0, LENGTH, SIZE).over(cells)[:-1]
    pmf = np.array(list(words.values()))
    test = goodness_of_fit([counts], [pmf], draws=1000, stop_after=50, rng=np.random.default_rng(0))
    assert test.monte_carlo is not None
    return (
        f"chi-square {test.statistic:.1f} on {test.dof}, p {test.monte_carlo.p_value:.2g}, "
        f"TV {tv_from_law([counts], [pmf]).estimate:.4f}, at most {tv_upper_bound(test, delta=1e-3):.4f}"
    )


def timed(work: Callable[[], object]) -> float:
    """Seconds of wall clock."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print the times and their ratio."""
    print(counted_and_tested(vectorised(WORDS)))
    whole = [timed(lambda: counted_and_tested(vectorised(WORDS))) for _ in range(RUNS)]
    decode = [timed(lambda: vectorised(WORDS)) for _ in range(RUNS)]
    slow = timed(lambda: one_by_one(WORDS // BASELINE_SHARE)) * BASELINE_SHARE
    print(f"{WORDS:,} words decoded, counted and tested: {statistics.median(whole):.2f} s (median of {RUNS})")
    print(f"of that decoding: {statistics.median(decode):.2f} s, {WORDS / statistics.median(decode):,.0f} words/s")
    print(f"one by one, scaled up: {slow:.1f} s; ratio {slow / statistics.median(decode):.0f}")


if __name__ == "__main__":
    main()
