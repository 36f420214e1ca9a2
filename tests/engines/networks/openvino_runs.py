"""OpenVINO GenAI: plain decoding, prompt lookup, a draft model, and the target as its own draft.

tests/engines/run.sh openvino
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.engines.runs import Run, carry_out

SEEDS = {"SED1": "conforms", "SED2": "conforms"}
BOUNDED = {"LAW1": "inconclusive"}
"""The law is bounded; whether drafts were rejected cannot be seen, so that nothing is said of the verifier."""
RIGHT = {"LGP1": "inconclusive", **SEEDS}
"""Reported logprobs are bounded likewise."""


def runs(folder: Path) -> Iterator[Run]:
    """Return what is run on the models of a folder."""
    target, draft = str(folder / "target"), str(folder / "draft")
    plain = {"engine": "openvino", "target": target}
    lookup = {**plain, "speculation": "lookup"}
    yield Run(title="plain decoding", suite="law", options=plain, expected=BOUNDED)
    yield Run(title="plain decoding", suite="greedy", options=plain, expected={"GRD1": "inconclusive", **RIGHT})
    yield Run(title="prompt lookup, K = 3", suite="law", options=lookup, expected=BOUNDED)
    yield Run(title="prompt lookup, K = 3", suite="greedy", options=lookup, expected={"GRD1": "conforms", **RIGHT})
    wrong = {"GRD1": "conforms", "LGP1": "violates", "SED1": "violates", "SED2": "violates"}
    # The target as its own draft takes the same token where only one is left: LAW2 has nothing to find there.
    for what, model, suite, law in (
        ("draft model", draft, "small", {"LAW1": "violates", "LAW2": "violates"}),
        ("draft = target", target, "law", {"LAW1": "violates"}),
    ):
        options = {**plain, "draft": model}
        yield Run(title=f"{what}, K = 3", suite=suite, options=options, expected=law)
        yield Run(title=f"{what}, K = 3", suite="greedy", options=options, expected=wrong)
        counting = {**options, "engine": "openvino:generate"}
        yield Run(title=f"{what}, K = 3", suite="counters", options=counting, expected={"CTR2": "violates"})


def main(folder: Path, only: str = "") -> int:
    """Run them all; return the exit code."""
    return carry_out(runs(folder), only)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
