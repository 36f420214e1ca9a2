"""vLLM on a CPU: n-gram drafts and a draft model, as the wheel is and repaired, held against its plain decoding.

tests/engines/run.sh vllm
VLLM_PYTHON=/path/to/python tests/engines/run.sh vllm      # vLLM in an environment of its own
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.engines.runs import Run, carry_out

DRAFTING = {
    "n-gram": {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 4, "prompt_lookup_min": 1},
    "draft model, greedy": {"method": "draft_model", "num_speculative_tokens": 3},
    "draft model, probabilistic": {
        "method": "draft_model",
        "num_speculative_tokens": 3,
        "draft_sample_method": "probabilistic",
    },
}
START_SECONDS = 600


@contextmanager
def served(folder: Path, drafting: dict[str, object] | None = None, *, repaired: bool = False) -> Iterator[str]:
    """Serve the target; give its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--model", str(folder / "target"), "--port", str(port)]
    if drafting is not None:
        model = {"model": str(folder / "draft")} if drafting["method"] == "draft_model" else {}
        words += ["--speculative-config", json.dumps({**drafting, **model})]
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": root, **({"REPAIRED": "1"} if repaired else {})}
    python = os.environ.get("VLLM_PYTHON", sys.executable)
    log = folder / f"vllm-{port}.log"
    with (
        log.open("w") as said,
        subprocess.Popen(
            [python, "-m", "tests.engines.networks.vllm_serve", *words],
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address, process)
            yield address
        finally:
            process.terminate()


def _wait(address: str, process: "subprocess.Popen[bytes]") -> None:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        try:
            if httpx.get(f"{address}/health", timeout=2).is_success:
                return
        except httpx.HTTPError:
            time.sleep(1)
    raise TimeoutError(f"no server at {address} after {START_SECONDS} s; its log is kept beside the models")


def runs(subject: str, plain: str, name: str, *, repaired: bool) -> Iterator[Run]:
    """Return what is asked of one server."""
    options = {
        "endpoint": f"{subject}/v1",
        "reference": f"{plain}/v1",
        "metrics": f"{subject}/metrics",
        "engine": "vllm",
    }
    title = f"{name}, {'repaired' if repaired else 'as the wheel is'}"
    verdict = "conforms" if repaired else "violates"
    yield Run(title=title, suite="nucleus", options=options, expected={"LAW1": verdict})
    yield Run(title=title, suite="traffic", options=options, expected={"GRD1": verdict})


def main(folder: Path, only: str = "") -> int:
    """Run them all; return the exit code."""
    wrong = 0
    with served(folder) as plain:
        for name, drafting in DRAFTING.items():
            for repaired in (False, True):
                if only in f"{name}, {'repaired' if repaired else 'as the wheel is'}":
                    with served(folder, drafting, repaired=repaired) as subject:
                        wrong += carry_out(runs(subject, plain, name, repaired=repaired))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
