"""Uniforms that belong to a position: the same when an audit is judged live and when it is judged again."""

import numpy as np
import numpy.typing as npt

_Words = npt.NDArray[np.uint64]

_MULTIPLIER = np.uint64(0x9FB21C651E98DF25)
_INCREMENT = np.uint64(0x27D4EB2F165667C5)


def position_uniforms(
    seed: int, completion: npt.NDArray[np.integer], position: npt.NDArray[np.integer]
) -> npt.NDArray[np.float64]:
    """Uniforms in [0, 1) `[N]`, a function of (seed, completion, position) alone.

    Each of the three is absorbed by a multiplication and the avalanche of xxHash64 (Collet 2012). That is another
    generator than any engine draws from: a subject that shares its seed with the plan must not share its uniforms.

    Args:
        seed: Seed of the plan.
        completion: Number of each token's completion in the plan `[N]`, not negative.
        position: Position of each token in its completion `[N]`, not negative.
    """
    state = np.full(len(position), seed % 2**64, dtype=np.uint64)
    for word in (completion, position):
        state = _avalanche(state * _MULTIPLIER + word.astype(np.uint64) + _INCREMENT)
    # 53 bits fill a double's significand, so that 1 is never reached.
    return (_avalanche(state) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _avalanche(words: _Words) -> _Words:
    words = (words ^ (words >> np.uint64(33))) * np.uint64(0xC2B2AE3D27D4EB4F)
    words = (words ^ (words >> np.uint64(29))) * np.uint64(0x165667B19E3779F9)
    return words ^ (words >> np.uint64(32))
