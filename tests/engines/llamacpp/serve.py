"""llama.cpp's own HTTP server on loopback, from the prebuilt wheel `xllamacpp`, until SIGTERM.

    python -m tests.engines.llamacpp.serve --model target.gguf [--draft draft.gguf --type draft-simple] …

Prints the address as its first line.
"""

import argparse
import os
import signal
import sys
import threading

import xllamacpp

_TYPE = "COMMON_SPECULATIVE_TYPE_"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="target, GGUF")
    parser.add_argument("--draft", help="draft model, GGUF; without --type it does not speculate")
    parser.add_argument("--type", help="draft-simple, ngram-simple, ngram-map-k, …")
    parser.add_argument("--drafts", type=int, default=3, help="per step")
    parser.add_argument("--probabilistic", action="store_true", help="sampled drafts, true rejection sampling")
    parser.add_argument("--synth-len", type=float, help="accept at random: lossy on purpose")
    parser.add_argument("--with-parent", action="store_true", help="end with stdin, as where who started it has died")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--port", type=int, default=0)
    return parser.parse_args()


def parameters(asked: argparse.Namespace) -> xllamacpp.CommonParams:
    """Return the server's parameters."""
    params = xllamacpp.CommonParams()
    params.model.path = asked.model
    params.n_ctx, params.n_parallel, params.port = 512 * asked.slots, asked.slots, asked.port
    params.hostnames = ["127.0.0.1"]
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup = False
    speculation = params.speculative
    if asked.draft:
        speculation.draft.mparams.path = asked.draft
        speculation.draft.cpuparams.n_threads = speculation.draft.cpuparams_batch.n_threads = 1
    if asked.type:
        member = _TYPE + asked.type.upper().replace("-", "_")
        speculation.types = [xllamacpp.common_speculative_type.__members__[member]]
        speculation.draft.n_max = asked.drafts
        speculation.ngram_simple.size_n, speculation.ngram_simple.size_m = 2, asked.drafts
    speculation.draft.probabilistic = asked.probabilistic
    if asked.synth_len is not None:
        speculation.synth_len = asked.synth_len
    return params


def main() -> None:
    """Serve until told to stop."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    asked = options()
    if asked.with_parent:
        threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    server = xllamacpp.Server(parameters(asked))
    print(server.listening_address, flush=True)
    stop.wait()
    del server
    sys.stdout.flush()
    os._exit(0)  # its threads would otherwise be waited for


if __name__ == "__main__":
    main()
