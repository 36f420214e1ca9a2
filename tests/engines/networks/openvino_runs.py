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
    drafts = {"draft model": draft, "draft = target": target}
    for what, model in drafts.items():
        options = {**plain, "draft": model}
        yield Run(
            title=f"{what}, K = 3", suite="small", options=options, expected={"LAW1": "violates", "LAW2": "violates"}
        )
        wrong = {"GRD1": "conforms", "LGP1": "violates", "SED1": "violates", "SED2": "violates"}
        yield Run(title=f"{what}, K = 3", suite="greedy", options=options, expected=wrong)


if __name__ == "__main__":
    sys.exit(carry_out(runs(Path(sys.argv[1])), *sys.argv[2:]))
