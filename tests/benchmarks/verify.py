"""Time and memory of one verification step. Run it: OMP_NUM_THREADS=1 python -m tests.benchmarks.verify.

The baseline in the same run is the verifier as one would first write it: full arrays of laws, a gather, a residual, a
cumulative sum over the vocabulary. Times are processor time, the best of several runs, taken in turns.
"""

import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from specaudit.decoding.verify.chain import ChainVerifier

RUNS = 15
VERIFY = ChainVerifier()


def baseline(draft: np.ndarray, q: np.ndarray, p: np.ndarray, num_draft: np.ndarray, rng: np.random.Generator):
    """Emit tokens `[B, K + 1]`, padded with −1."""
    batch, width = draft.shape
    row = np.arange(batch)
    coins = rng.random((batch, width + 1))
    at_draft = np.take_along_axis(p[:, :width], draft[..., None], axis=2)[..., 0]
    drawn_from = np.take_along_axis(q, draft[..., None], axis=2)[..., 0]
    accepted = (coins[:, :width] < at_draft / drawn_from) & (np.arange(width) < num_draft[:, None])
    n = accepted.cumprod(axis=1).sum(axis=1)
    weights = p[row, n]
    rejected = n < num_draft
    weights[rejected] = np.maximum(0, weights[rejected] - q[row[rejected], n[rejected]])
    weights /= weights.sum(axis=1, keepdims=True)
    token = (weights.cumsum(axis=1) > coins[:, width:]).argmax(axis=1)
    out = np.where(np.arange(width + 1) < n[:, None], np.column_stack([draft, token]), -1)
    out[row, n] = token
    return out


def inputs(batch: int, width: int, vocabulary: int, dtype: type, *, rejected: bool = False):
    """Random laws, and drafts that are good for nothing if they are all to be `rejected`."""
    rng = np.random.default_rng(0)
    p = rng.random((batch, width + 1, vocabulary), dtype=np.float32).astype(dtype)
    q = rng.random((batch, width, vocabulary), dtype=np.float32).astype(dtype)
    draft = rng.integers(0, vocabulary, (batch, width))
    if rejected:
        p[:, :, 0] = draft[:] = 0
    p /= p.sum(axis=2, keepdims=True)
    q /= q.sum(axis=2, keepdims=True)
    return draft, q, p, np.full(batch, width)


def best(*works: Callable[[], object], runs: int = RUNS) -> list[float]:
    """Seconds of processor time of each, the best of several rounds."""
    seconds = np.empty((runs, len(works)))
    for i in range(runs):
        for j, work in enumerate(works):
            start = time.process_time()
            work()
            seconds[i, j] = time.process_time() - start
    return seconds.min(axis=0).tolist()


def peak_bytes(work: Callable[[], object]) -> int:
    """Bytes allocated at most on top of what there was."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def many_short_rows() -> None:
    """Print the figures for a large batch over a tiny vocabulary."""
    batch = 300_000
    arguments, rng = inputs(batch, 3, 4, np.float64), np.random.default_rng(1)
    slow, fast = best(lambda: baseline(*arguments, rng), lambda: VERIFY(*arguments, rng, check=False))
    print(f"V = 4, K = 3, B = {batch:,}")
    print(f"  baseline {batch / slow:,.0f} rows/s, shipped {batch / fast:,.0f} rows/s: {slow / fast:.1f} times")


def few_long_rows() -> None:
    """Print the figures for a small batch over a production vocabulary, in single precision."""
    batch, vocabulary = 32, 128_000
    arguments, rng = inputs(batch, 5, vocabulary, np.float32), np.random.default_rng(1)
    _, q, p, _ = arguments
    p_once, q_once = p[:, 0].copy(), q[:, 0].copy()
    slow, fast, once = best(
        lambda: baseline(*arguments, rng),
        lambda: VERIFY(*arguments, rng, check=False),
        lambda: np.maximum(0, p_once - q_once).sum(axis=1),
    )
    print(f"V = {vocabulary:,}, K = 5, B = {batch}, float32")
    print(f"  baseline {slow * 1e3:.1f} ms, shipped {fast * 1e3:.1f} ms: {slow / fast:.1f} times")
    print(f"  one pass max(0, p - q) + sum over {batch} rows: {once * 1e3:.1f} ms; shipped is {fast / once:.2f} of it")
    row = batch * p[0, 0].nbytes
    peaks = (peak_bytes(lambda: baseline(*arguments, rng)), peak_bytes(lambda: VERIFY(*arguments, rng, check=False)))
    print("  peak extra memory, rows per request: baseline {:.2f}, shipped {:.2f}".format(*(n / row for n in peaks)))


def plot(title: str, unit: str, sizes: list[int], seconds: list[float]) -> None:
    """Print one bar per size, both on a logarithmic scale: linear cost is a straight line of constant cost per unit."""
    print(title)
    for size, second in zip(sizes, seconds, strict=True):
        bar = "#" * round(8 * np.log10(second / seconds[0]) + 8)
        print(f"  {size:>9,} {bar:<40} {second * 1e3:9.3f} ms {second / size * 1e9:9.2f} ns per {unit}")


def main() -> None:
    """Print the figures and the plots."""
    many_short_rows()
    few_long_rows()
    rng = np.random.default_rng(1)
    batches = [2**i * 1_000 for i in range(0, 11, 2)]
    small = [inputs(batch, 3, 4, np.float64) for batch in batches]
    seconds = best(*(partial(VERIFY, *arguments, rng, check=False) for arguments in small))
    plot("cost against B (V = 4, K = 3)", "row", batches, seconds)
    vocabularies = [2**i * 1_000 for i in range(0, 11, 2)]
    rows = [2_048_000 // size for size in vocabularies]
    rejected = [inputs(n, 1, size, np.float32, rejected=True) for n, size in zip(rows, vocabularies, strict=True)]
    seconds = best(*(partial(VERIFY, *arguments, rng, check=False) for arguments in rejected))
    seconds = [second / n for second, n in zip(seconds, rows, strict=True)]
    plot("cost of a rejected row against V (K = 1, float32)", "token", vocabularies, seconds)


if __name__ == "__main__":
    main()
