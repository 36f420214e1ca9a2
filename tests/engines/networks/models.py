"""Tiny models for transformers and vLLM: a target, and a draft that often agrees with it.

    python -m tests.engines.networks.models FOLDER

writes `target` and `draft`, 1.4 MB each, as transformers saves them: two random Llama layers over 256 bytes, a start
and an end. The first dimension of every hidden state is held constant, so that its weight in a token's output row is a
bias: text is lower-case letters and spaces, which repeat often enough for drafts to be looked up in it, and the end
comes about once in a hundred tokens.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

LAYERS, WIDTH, HEADS, HIDDEN, CONTEXT = 2, 128, 2, 256, 1024
BOS, EOS = 0, 1
TEXT = "abcdefghijklmnopqrstuvwxyz "

SHARPNESS = 5.0
"""Spread of the logits: the most likely of the letters gets about half of the mass."""
CONSTANT = 4.0
"""What every embedding has in its first dimension, into which no layer writes."""
END, NEVER = -3.0, -20.0
"""Biases of the end and of what is no letter."""
DRAFT_NOISE = 0.07
"""Noise in the draft's weights, as a share of their spread."""


def make(folder: Path) -> None:
    """Write both models into a folder."""
    tokenizer = byte_tokenizer()
    target = random_model(tokenizer)
    for name, model in (("target", target), ("draft", noisy(target, tokenizer))):
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer whose tokens are the bytes, behind a start and an end."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", model_max_length=CONTEXT
    )


def random_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Return a model with random weights."""
    torch.manual_seed(1)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=HIDDEN,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=HEADS,
            max_position_embeddings=CONTEXT,
            bos_token_id=BOS,
            eos_token_id=EOS,
            tie_word_embeddings=False,
            dtype="float32",
        )
    )
    spreads = {"embed_tokens": 1.0, "q_proj": 1.5 * WIDTH**-0.5, "k_proj": 1.5 * WIDTH**-0.5}
    spreads |= {"lm_head": SHARPNESS * WIDTH**-0.5, "down_proj": HIDDEN**-0.5}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                weight.normal_(0, next((spread for part, spread in spreads.items() if part in name), WIDTH**-0.5))
    return biased(model, tokenizer)


def noisy(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """Return a copy with noise in every matrix."""
    copy = LlamaForCausalLM(model.config)
    copy.load_state_dict(model.state_dict())
    torch.manual_seed(7)
    with torch.no_grad():
        for weight in copy.parameters():
            if weight.ndim == 2:
                weight += DRAFT_NOISE * weight.std() * torch.randn_like(weight)
    return biased(copy, tokenizer)


def biased(model: LlamaForCausalLM, tokenizer: Any) -> LlamaForCausalLM:
    """Make the first hidden dimension a constant, which biases tokens by their kind."""
    text = tokenizer.convert_tokens_to_ids([token for letter in TEXT for token in tokenizer.tokenize(letter)])
    bias = torch.full((len(tokenizer),), NEVER)
    bias[text], bias[EOS] = 0.0, END
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 0] = CONSTANT
        for name, weight in model.named_parameters():
            if "o_proj" in name or "down_proj" in name:
                weight[0] = 0.0
        model.lm_head.weight[:, 0] = bias
    return model


if __name__ == "__main__":
    make(Path(sys.argv[1]))
