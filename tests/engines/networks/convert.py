"""The models in OpenVINO's form, float32, with their tokenizers.

python -m tests.engines.networks.convert FOLDER      reads FOLDER/target and FOLDER/draft, writes FOLDER/openvino
"""

import sys
from pathlib import Path

import openvino
from openvino_tokenizers import convert_tokenizer
from optimum.intel import OVModelForCausalLM
from transformers import PreTrainedTokenizerFast


def convert(source: Path, out: Path) -> None:
    """Write one model."""
    model = OVModelForCausalLM.from_pretrained(source, export=True, compile=False, load_in_8bit=False)
    model.save_pretrained(out)
    # GenAI 2026.4.1 cannot load tokenizers that keep special tokens in texts; these are converted as they are.
    tokenizer = PreTrainedTokenizerFast.from_pretrained(source)
    for name, part in zip(
        ("openvino_tokenizer.xml", "openvino_detokenizer.xml"),
        convert_tokenizer(tokenizer, with_detokenizer=True),
        strict=True,
    ):
        openvino.save_model(part, out / name)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for one in ("target", "draft"):
        convert(folder / one, folder / "openvino" / one)
