"""The Hamming MMD beside its authors' package. Run it: python -m tests.benchmarks.mmd [--python P] [--permutations N].

The baseline in the same run is PyPI's `model-equality-testing` (Gao, Liang, Guestrin), in an environment of its own: it
wants PyTorch, and, undeclared, transformers and tqdm. Without `--python`, the interpreter of an environment that has
them, one is made in a temporary folder. A permutation takes the package a fifth of a second: it makes 50 unless told
otherwise, and its time for 1,000 is scaled up.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np

from specaudit.stats.mmd import HammingMMD, hamming_mmd

REQUIREMENTS = ("model-equality-testing==0.0.2", "torch==2.13.0", "transformers", "tqdm")

PACKAGE = """
import json, sys, time
import numpy as np
from model_equality_testing.distribution import CompletionSample
from model_equality_testing.pvalue import two_sample_permutation_pvalue
from model_equality_testing.tests import mmd_hamming

data, permutations = np.load(sys.argv[1]), int(sys.argv[2])
arms = [CompletionSample(data["prompts"], data[arm], int(data["prompts"].max()) + 1) for arm in ("first", "second")]
value = mmd_hamming(*arms)
start = time.perf_counter()
two_sample_permutation_pvalue(*arms, b=permutations, stat_type="mmd_hamming")
print(json.dumps({"value": float(value), "seconds": time.perf_counter() - start}))
"""

PROMPTS, COMPLETIONS, TOKENS, VOCABULARY = 25, 10, 1000, 100
PERMUTATIONS = 1000
RUNS = 5


def environment(folder: Path) -> Path:
    """Make an environment with the package, and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
    return python


def arms(prompts: int, completions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ragged completions of both arms `[N, TOKENS]`, padded with -1, and the prompts they answer `[N]`."""
    rng = np.random.default_rng(0)
    asked = np.repeat(np.arange(prompts), completions)
    shape = (len(asked), TOKENS)
    ends = rng.integers(TOKENS // 2, TOKENS + 1, size=(2, len(asked), 1))
    first, second = np.where(np.arange(TOKENS) < ends, rng.zipf(1.3, size=(2, *shape)) % VOCABULARY, -1)
    return first, second, asked


def timed(first: np.ndarray, second: np.ndarray, prompts: np.ndarray) -> tuple[HammingMMD, float]:
    """The result with 1,000 permutations, and the best of a few wall-clock times in seconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        result = hamming_mmd(first, second, prompts, prompts, draws=PERMUTATIONS, rng=np.random.default_rng(1))
        times.append(time.perf_counter() - start)
    return result, min(times)


def package(python: Path, permutations: int, folder: Path) -> tuple[float, float]:
    """The package's value of the same arms, and its seconds for that many permutations."""
    first, second, prompts = arms(PROMPTS, COMPLETIONS)
    np.savez(folder / "arms.npz", first=first, second=second, prompts=prompts)
    command = [python, "-c", PACKAGE, folder / "arms.npz", str(permutations)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = json.loads(told.stdout.splitlines()[-1])
    return found["value"], found["seconds"]


def main() -> None:
    """Print values, times and their ratio; exit 1 if the values differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=Path, help="interpreter of an environment that has the package")
    parser.add_argument("--permutations", type=int, default=50, help="that the package makes")
    options = parser.parse_args()
    result, ours = timed(*arms(PROMPTS, COMPLETIONS))
    print(f"{PROMPTS} prompts x {COMPLETIONS} completions x {TOKENS} tokens an arm, {PERMUTATIONS:,} permutations")
    print(f"specaudit: MMD {result.estimate:.15g}, {ours:.3f} s (best of {RUNS})")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = options.python or environment(folder / "environment")
        value, seconds = package(python, options.permutations, folder)
    theirs = seconds * PERMUTATIONS / options.permutations
    print(f"package:   MMD {value:.15g}, {theirs:.0f} s, scaled up from {options.permutations} permutations")
    print(f"values differ by {abs(value - result.estimate):.1e}; ratio of the times {theirs / ours:,.0f}")
    for prompts in (25, 1):
        seconds = timed(*arms(prompts, 1000 // prompts))[1]
        print(f"specaudit, 1,000 completions an arm of {prompts} prompt{'s' * (prompts > 1)}: {seconds:.2f} s")
    sys.exit(abs(value - result.estimate) > 1e-12)


if __name__ == "__main__":
    main()
