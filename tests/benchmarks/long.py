"""Long prompts and completions: what an audit keeps, in memory and on disk, beside the same audit of short ones.

    python -m tests.benchmarks.long

LAW3 over completions of 1,024 tokens in process, behind prompts of 4 to 12 tokens and of 4,096 and 16,384: requests and
generated tokens are the same, and so should be what is kept. Each runs in a process of its own, for its peak memory.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from specaudit.audit.audit import Audit
from specaudit.audit.record import FILE_NAME
from specaudit.audit.run import run_audit
from specaudit.model.suite import Suite

PROMPTS = (0, 4096, 16_384)


def audited(prompt_tokens: int, world: str, max_tokens: int) -> dict[str, float]:
    """Audit in this process; return its size."""
    long = {"max_tokens": max_tokens, "prompt_tokens": prompt_tokens}
    settings = {"required": True, "tolerance": 0.2, "choices": 8, **long}
    with tempfile.TemporaryDirectory() as folder:
        out, began = Path(folder, "out"), time.perf_counter()
        report = run_audit(Audit(suite=Suite(name="long", title="", checks={"LAW3": settings}), out=out, world=world))
        return {
            "exit_code": report.exit_code,
            "seconds": time.perf_counter() - began,
            "evidence_mb": (out / FILE_NAME).stat().st_size / 1e6,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
            "tokens": sum(report.tokens.values()),
        }


def main() -> None:
    """Print a line for each length, and its ratio to the shortest."""
    shortest = None
    print("prompt tokens   seconds   evidence MB   peak MB   evidence, peak over shortest")
    for prompt_tokens in PROMPTS:
        command = [sys.executable, "-m", "tests.benchmarks.long", str(prompt_tokens)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        shortest = shortest or found
        print(
            f"{prompt_tokens or 'as they are':>13} {found['seconds']:9.1f} {found['evidence_mb']:13.1f} "
            f"{found['peak_mb']:9.0f} {found['evidence_mb'] / shortest['evidence_mb']:14.2f} "
            f"{found['peak_mb'] / shortest['peak_mb']:6.2f}   exit {found['exit_code']}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(audited(int(sys.argv[1]), "markov4", 1024)))
    else:
        main()
