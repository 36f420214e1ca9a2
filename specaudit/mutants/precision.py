"""Faults of quantised arithmetic in the target; the accept rule is untouched."""

from dataclasses import replace
from typing import Any

from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.transformer import Transformer
from specaudit.decoding.precision import Precision, QuantisedTransformer
from specaudit.decoding.worlds import World
from specaudit.mutants.registry import register
from specaudit.mutants.state import transformer_of


class Fp8BatchScale(QuantisedTransformer):
    """FP8 activations share one scale over the whole batch: drafts and neighbours decide how a token is rounded.

    Its reference is plain decoding of the same FP8 target, which reads one token of a request at a time.

    Seen: a class of faults of dynamic per-tensor scales, which weight-only tests never reach.

    Killed by: SED2, LAW6 (sampled).
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__(model, Precision(scope="tensor"))


def _fp8_batch_scale(world: World, **options: Any) -> SpeculativeDecoder:
    return SpeculativeDecoder(replace(world, target=Fp8BatchScale(transformer_of(world))), **options)


register(
    "fp8-batch-scale",
    family="precision",
    fault=Fp8BatchScale,
    build=_fp8_batch_scale,
    world="transformer8",
    plain="transformer8-fp8",
)
