"""A server whose drafter is accepted with probability alpha per token, counting as vLLM does."""

import numpy as np

from specaudit.counters.interface import Reading
from specaudit.counters.page import Series


class Server:
    def __init__(self, seed: int, alpha: float = 0.8, draft_tokens: int = 4, *, marked: bool = True) -> None:
        self._rng = np.random.default_rng(seed)
        self._alpha = alpha
        self._draft_tokens = draft_tokens
        self._marked = marked
        self.lives = 0
        self.running = 0
        self.asleep = False
        self.restart()

    def restart(self) -> None:
        self.lives += 1
        self.drafts = 0
        self.accepted_per_position = np.zeros(self._draft_tokens, dtype=int)
        self.generation_tokens = 0
        self.requests_finished = 0

    def serve(self, sequences: int, cap: int) -> int:
        """Serve sequences of `cap` tokens: one from prefill, then whole steps, counted before trimming to the cap."""
        accepted = np.cumprod(self._rng.random((sequences, cap, self._draft_tokens)) < self._alpha, axis=2)
        emitted_before = np.cumsum(accepted.sum(axis=2) + 1, axis=1) - accepted.sum(axis=2) - 1
        taken = emitted_before < cap - 1
        self.drafts += int(taken.sum())
        self.accepted_per_position = self.accepted_per_position + accepted[taken].sum(axis=0)
        self.generation_tokens += sequences * cap
        self.requests_finished += sequences
        return sequences * cap

    def read(self) -> Reading:
        positions = (Series("per_position", (("position", str(i)),)) for i in range(self._draft_tokens))
        return Reading(
            drafts=self.drafts,
            draft_tokens=self.drafts * self._draft_tokens,
            accepted=int(self.accepted_per_position.sum()),
            accepted_per_position=tuple(self.accepted_per_position.tolist()),
            generation_tokens=self.generation_tokens,
            requests_finished=self.requests_finished,
            requests_running=self.running,
            waiting=0,
            asleep=self.asleep,
            marker=((Series("process_start_time_seconds"), float(self.lives)),) if self._marked else (),
            draft_limit=self._draft_tokens,
            series=frozenset((Series("drafts"), *positions)),
        )
