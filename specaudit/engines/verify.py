"""Any `verify` callable in process: `verify:MODULE:FUNCTION`, or `verify:FILE.py:FUNCTION`.

The embedded decoder drafts, reads, emits and stops; the function decides, called as `specaudit.testing.check_verifier`
calls it, with numpy arrays and a numpy Generator. So whole completions are audited, over many steps and by every check,
where `check_verifier` looks at single steps. Its Generator is one for a whole batch, so that a request's seed alone
decides nothing.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np

from specaudit.decoding.arrays import FloatArray, IntArray
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.streams import UniformSource
from specaudit.decoding.verify.chain import ChainVerifier
from specaudit.decoding.verify.greedy import GreedyVerifier
from specaudit.decoding.verify.inputs import read_laws
from specaudit.decoding.verify.rows import Laws, Rows
from specaudit.decoding.verify.verified import Verified
from specaudit.engines.embedded import HOME, world_named
from specaudit.engines.interface import Access, Probe
from specaudit.engines.reference import ReferenceEngine
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.verifiers.calls import ContractError, Verify, outcome

_HINT = "specaudit run --engine verify:MODULE:FUNCTION"


def build(arm: Arm, access: Access) -> "VerifyEngine":
    """Return the embedded decoder with the function that an arm names as its verifier.

    Raises:
        UsageError: there is no such function, or the world drafts trees.
    """
    name = arm.engine.partition(":")[2]
    world = world_named(arm.world or HOME)
    if world.topology is not None:
        raise UsageError(f"The world {world.name!r} drafts trees, and a verify function judges chains.", hint=_HINT)
    verify = _loaded(name)
    decoder = SpeculativeDecoder(
        world,
        draft_tokens=arm.draft_tokens or 0,
        verifier=_Sampled(verify, name),
        greedy_verifier=_Greedy(verify, name, world.vocabulary_size),
    )
    return VerifyEngine(decoder)


class VerifyEngine(ReferenceEngine):
    """The embedded decoder, its drafts judged by a function of the user's."""

    async def probe(self) -> Probe:
        """Say what this decoder reveals."""
        found = (await super().probe()).capabilities
        return Probe(capabilities=msgspec.structs.replace(found, refused=("seed",)))


class _Sampled(ChainVerifier):
    """Lets a function judge drafts at a temperature above 0."""

    def __init__(self, verify: Verify, name: str) -> None:
        self._verify, self._name = verify, name

    def __call__(
        self, draft: IntArray, q: Laws, p: Laws, num_draft: IntArray, rng: UniformSource, *, check: bool = True
    ) -> Verified:
        """Verify the drafts of a batch; what nothing was drafted for is drawn as ever."""
        if not draft.shape[1]:
            return super().__call__(draft, q, p, num_draft, rng, check=check)
        of_drafts, of_target = map(_whole, read_laws(draft, q, p, num_draft))
        seed = np.ascontiguousarray(self.coins(rng, *draft.shape)).view(np.uint64).ravel()
        drawing = np.random.default_rng(seed)
        return _called(self._verify, self._name, draft, of_drafts, of_target, num_draft, drawing)


class _Greedy(GreedyVerifier):
    """Lets a function judge drafts at temperature 0, where all laws are one-hot."""

    def __init__(self, verify: Verify, name: str, vocabulary_size: int) -> None:
        self._verify, self._name, self._one_hot = verify, name, np.eye(vocabulary_size)

    def __call__(self, draft: IntArray, target: IntArray, num_draft: IntArray, *, check: bool = True) -> Verified:
        """Verify the drafts of a batch; what nothing was drafted for is the target's."""
        if not draft.shape[1]:
            return super().__call__(draft, target, num_draft, check=check)
        q, p = self._one_hot[draft.clip(0)], self._one_hot[target]
        return _called(self._verify, self._name, draft, q, p, num_draft, np.random.default_rng(0))


def _whole(laws: Rows) -> FloatArray:
    """All of some laws `[B, n, V]`, in a copy that may be written to."""
    batch, positions, vocabulary = laws.shape
    rows, places = np.indices((batch, positions)).reshape(2, -1)
    return np.array(laws.at(rows, places)).reshape(batch, positions, vocabulary)


def _called(
    verify: Verify,
    name: str,
    draft: IntArray,
    q: FloatArray,
    p: FloatArray,
    num_draft: IntArray,
    rng: np.random.Generator,
) -> Verified:
    """Call a function, and hold what comes back against the contract.

    Raises:
        ValueError: it failed, or what came back is no outcome of a step.
    """
    try:
        returned = verify(draft.copy(), q, p, num_draft.copy(), rng)
    except Exception as error:
        raise ValueError(f"{name} ended with {type(error).__name__}: {error}") from error
    try:
        out, n_out = outcome(returned, num_draft, width=draft.shape[1], vocabulary=p.shape[2])
    except ContractError as error:
        raise ValueError(f"of {name}, {error}") from error
    return Verified(out=out, n_out=n_out, n_accepted=n_out - 1)


def _loaded(name: str) -> Verify:
    place, _, function = name.rpartition(":")
    if not place or not function:
        raise UsageError(f"{name!r} names no function of a module.", hint=_HINT)
    try:
        module = _file(Path(place)) if place.endswith(".py") else _module(place)
    except Exception as error:  # whatever the user's module does when it is imported
        raise UsageError(f"{place} cannot be imported: {type(error).__name__}: {error}.", hint=_HINT) from error
    found = getattr(module, function, None)
    if not callable(found):
        raise UsageError(f"{place} has no function {function!r}.", hint=_HINT)
    return found  # type: ignore[no-any-return]


def _module(name: str) -> ModuleType:
    """Import a module, from the working directory too, as `python -m` would."""
    sys.path.insert(0, "")
    try:
        return import_module(name)
    finally:
        sys.path.remove("")


def _file(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
