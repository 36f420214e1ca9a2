"""vLLM on a CPU: n-gram drafts and a draft model, as the wheel is and repaired, held against its plain decoding.

tests/engines/run.sh vllm
VLLM_PYTHON=/path/to/python tests/engines/run.sh vllm      # vLLM in an environment of its own
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

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
DYING = "top_k, draft model, as the wheel is"
DOCTOR = "doctor, greedy draft model, repaired"
START_SECONDS = 1800


@dataclass(frozen=True)
class Server:
    """A server that was started."""

    address: str
    process: "subprocess.Popen[bytes]"


@contextmanager
def served(folder: Path, drafting: dict[str, object] | None = None, *, repaired: bool = False) -> Iterator[Server]:
    """Start to serve the target; it answers once `ready` returns."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--model", str(folder / "target"), "--port", str(port)]
    if drafting is not None:
        model = {"model": str(folder / "draft")} if drafting["method"] == "draft_model" else {}
        words += ["--speculative-config", json.dumps({**drafting, **model})]
    root = str(Path(__file__).parents[3])
    environment = {
        **os.environ,
        "PYTHONPATH": root,
        "VLLM_SERVER_DEV_MODE": "1",
        **({"REPAIRED": "1"} if repaired else {}),
    }
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
            yield Server(address=f"http://127.0.0.1:{port}", process=process)
        finally:
            process.terminate()


def ready(*servers: Server) -> None:
    """Wait until servers answer that were started together.

    Raises:
        TimeoutError: one ended, or takes too long.
    """
    ends = time.monotonic() + START_SECONDS
    for server in servers:
        while not _answers(server.address):
            if server.process.poll() is not None or time.monotonic() > ends:
                raise TimeoutError(f"no server at {server.address}; its log is kept beside the models")
            time.sleep(1)


def _answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/health", timeout=2):
            return True
    except (OSError, HTTPException):
        return False


def runs(subject: str, plain: str, title: str, *, repaired: bool) -> Iterator[Run]:
    """Return what is asked of one server."""
    options = _options(subject, plain)
    verdict = "conforms" if repaired else "violates"
    yield Run(title=title, suite="nucleus", options=options, expected={"LAW1": verdict})
    # A first token comes from prefill: whatever the verifier does, its law is right, and shows nothing.
    yield Run(title=title, suite="one-token", options=options, expected={"LAW1": "inconclusive"})
    yield Run(title=title, suite="greedy", options=options, expected={"GRD1": "conforms"})
    yield Run(title=title, suite="traffic", options=options, expected={"GRD1": verdict})
    if repaired:
        yield Run(title=title, suite="law-16", options=options, expected={"LAW1": verdict})
    elif title.startswith("draft model, greedy"):  # last, for top_k ends the wheel
        yield dying(subject, plain)


def _subjects() -> Iterator[tuple[str, dict[str, object], bool]]:
    """Yield each speculating server's title, how it drafts, and whether it is repaired."""
    for name, drafting in DRAFTING.items():
        yield f"{name}, as the wheel is", drafting, False
        yield f"{name}, repaired", drafting, True


def _options(subject: str, plain: str) -> dict[str, object]:
    return {
        "endpoint": f"{subject}/v1",
        "reference": f"{plain}/v1",
        "metrics": f"{subject}/metrics",
        "engine": "vllm",
        "timeout": 600.0,  # seconds: two servers share the cores with whatever else runs
    }


def main(folder: Path, only: str = "") -> int:
    """Run them all, or those whose name holds a text; return the exit code."""
    wrong = 0
    wanted = [one for one in _subjects() if any(only in run.name for run in runs("", "", one[0], repaired=one[2]))]
    if wanted:
        with served(folder) as plain:
            for title, drafting, repaired in wanted:
                with served(folder, drafting, repaired=repaired) as subject:
                    ready(plain, subject)
                    wrong += carry_out(runs(subject.address, plain.address, title, repaired=repaired), only)
    if only in DOCTOR:
        with served(folder, DRAFTING["draft model, greedy"], repaired=True) as subject:
            ready(subject)
            wrong += doctor(subject.address)
    return 1 if wrong else 0


def dying(subject: str, plain: str) -> Run:
    """Return what ends the wheel: top_k, on its path for CPUs."""
    options = _options(subject, plain)
    return Run(title=DYING, suite="law-16", options=options, expected={"LAW1": "inconclusive"}, exit_code=3)


def doctor(subject: str) -> int:
    """Print what `specaudit doctor` says of a server; return 1 where it could not."""
    words = ["doctor", "--endpoint", f"{subject}/v1", "--metrics", f"{subject}/metrics", "--timeout", "300"]
    print(f"\n{DOCTOR}\n\n$ specaudit {' '.join(words)}", flush=True)
    return int(subprocess.run([sys.executable, "-m", "specaudit", *words], check=False).returncode != 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # unwinds, so that no server is left running
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
