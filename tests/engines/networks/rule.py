"""The accept rule of transformers behind the interface of `check_verifier`.

`_speculative_sampling` judges one row at a time. Its fifth argument was another one in early releases: what is not
asked for is not given.
"""

from typing import Any

import torch
from transformers.generation.utils import _speculative_sampling


def rule(**options: Any) -> Any:
    """Return `verify(draft, q, p, num_draft, rng)`, tensors in and out."""

    def verify(draft: Any, q: Any, p: Any, num_draft: Any, rng: Any) -> tuple[Any, Any]:
        out, n_out = torch.full((len(draft), draft.shape[1] + 1), -1), torch.empty(len(draft), dtype=torch.int64)
        for row, length in enumerate(num_draft.tolist()):
            if length:
                tokens = draft[row : row + 1, :length]
                candidates, target = q[row : row + 1, :length].log(), p[row : row + 1, : length + 1].log()
                emitted, _ = _speculative_sampling(tokens, candidates, length, target, **options)
            else:  # which transformers does not call speculative sampling
                emitted = torch.multinomial(p[row : row + 1, 0], num_samples=1)
            n_out[row] = emitted.shape[1]
            out[row, : emitted.shape[1]] = emitted[0]
        return out, n_out

    return verify
