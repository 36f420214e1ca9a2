"""Tiny models for llama.cpp, written as GGUF: a target, a draft that often agrees with it, and a target slightly off.

    python -m tests.engines.llamacpp.models FOLDER

writes `target.gguf`, `draft.gguf` and `perturbed.gguf`, 350 kB each: two random Llama layers over 32 tokens. The first
dimension of every hidden state is held constant, so that its weight in a token's output row is a bias: with it the
control tokens, the end of a sequence among them, are hardly ever drawn, and a completion has the length that was asked
for whether or not the end is forbidden.
"""

import sys
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT = 2, 64, 4, 128, 2048
CONTROL = ("<unk>", "<s>", "</s>")
TEXT = ("▁", *"abcdefghijklmnopqrstuvwxyzO,")
"""All that the texts with which servers are probed are made of: llama.cpp answers 500 to what it cannot tokenize."""
VOCABULARY = (*CONTROL, *TEXT)
BOS, EOS = 1, 2

SHARPNESS = 5.0
"""Spread of the logits: the most likely of 29 tokens gets about half of the mass."""
CONSTANT = 4.0
"""What every embedding has in its first dimension, into which no layer writes."""
DRAFT_NOISE, OFF = 0.1, 0.01
"""Noise in the weights, as a share of their spread: drafts are accepted about 6 times in 10; a target that is off."""

Weights = dict[str, NDArray[np.float64]]


def make(folder: Path) -> None:
    """Write the three models into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    target = random_weights(np.random.default_rng(1))
    write(folder / "target.gguf", target)
    write(folder / "draft.gguf", noisy(target, DRAFT_NOISE))
    write(folder / "perturbed.gguf", noisy(target, OFF))


def random_weights(rng: np.random.Generator) -> Weights:
    """Return random weights by their GGUF names."""
    narrow = WIDTH**-0.5

    def matrix(rows: int, columns: int, spread: float) -> NDArray[np.float64]:
        return rng.normal(0, spread, (rows, columns))

    weights = {"token_embd.weight": matrix(len(VOCABULARY), WIDTH, 1.0), "output_norm.weight": np.ones(WIDTH)}
    for layer in range(LAYERS):
        block = {
            "attn_norm": np.ones(WIDTH),
            "attn_q": matrix(WIDTH, WIDTH, 1.5 * narrow),
            "attn_k": matrix(WIDTH, WIDTH, 1.5 * narrow),
            "attn_v": matrix(WIDTH, WIDTH, narrow),
            "attn_output": matrix(WIDTH, WIDTH, narrow),
            "ffn_norm": np.ones(WIDTH),
            "ffn_gate": matrix(HIDDEN, WIDTH, narrow),
            "ffn_up": matrix(HIDDEN, WIDTH, narrow),
            "ffn_down": matrix(WIDTH, HIDDEN, HIDDEN**-0.5),
        }
        weights |= {f"blk.{layer}.{name}.weight": value for name, value in block.items()}
    weights["output.weight"] = matrix(len(VOCABULARY), WIDTH, SHARPNESS * narrow)
    return _biased(weights)


def noisy(weights: Weights, noise: float) -> Weights:
    """Return weights with noise in every matrix."""
    rng = np.random.default_rng(7)
    return _biased(
        {
            name: value if value.ndim == 1 else value + noise * value.std() * rng.normal(0, 1, value.shape)
            for name, value in weights.items()
        }
    )


def _biased(weights: Weights) -> Weights:
    """Weights whose first hidden dimension is a constant, which biases control tokens away."""
    weights = {name: value.copy() for name, value in weights.items()}
    weights["token_embd.weight"][:, 0] = CONSTANT
    for name, value in weights.items():
        if name.endswith(("attn_output.weight", "ffn_down.weight")):
            value[0] = 0.0
    weights["output.weight"][:, 0] = np.where(np.arange(len(VOCABULARY)) < len(CONTROL), -20.0, 0.0)
    return weights


def write(path: Path, weights: Weights) -> None:
    """Write a model with its vocabulary."""
    out = gguf.GGUFWriter(str(path), "llama")
    out.add_name("tiny")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(HIDDEN)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_rope_freq_base(10_000.0)
    out.add_vocab_size(len(VOCABULARY))
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    kind = gguf.TokenType
    out.add_tokenizer_model("llama")
    out.add_token_list(list(VOCABULARY))
    out.add_token_scores([0.0] * len(CONTROL) + [-float(rank) for rank in range(len(TEXT))])
    out.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.NORMAL] * len(TEXT)])
    out.add_bos_token_id(BOS)
    out.add_eos_token_id(EOS)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_space_prefix(False)
    for name, value in weights.items():
        out.add_tensor(name, np.ascontiguousarray(value, dtype=np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
