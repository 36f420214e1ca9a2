"""The adapter against stand-ins for torch and transformers; `tests/engines/run.sh transformers` runs the real ones."""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from specaudit.engines import transformers
from specaudit.engines.interface import Access, EngineFailure
from specaudit.engines.transformers import TransformersEngine, build
from specaudit.model.completion import Steps
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.request import Request, Sampling

VOCABULARY = 8
PROMPT = (3, 5)
PER_STEP = 2
DRAFTS = {"assistant_model", "prompt_lookup_num_tokens"}


class Model:
    """Behind token t comes t + 1, modulo the vocabulary; its logit is 1 and all others 0."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.config = SimpleNamespace(vocab_size=VOCABULARY)
        self.generation_config = SimpleNamespace(eos_token_id=7, update=lambda **kw: vars(self.settings).update(kw))
        self.settings = SimpleNamespace()
        self.asked: list[dict[str, Any]] = []
        self.hooks: list[Any] = []

    def register_forward_pre_hook(self, hook: Any, *, with_kwargs: bool) -> Any:
        assert with_kwargs
        self.hooks.append(hook)
        return SimpleNamespace(remove=lambda: self.hooks.remove(hook))

    def eval(self) -> "Model":
        return self

    def generate(self, tokens: np.ndarray, **options: Any) -> np.ndarray:
        """Emit two tokens a step, whatever was drafted; of the drafts the first is right."""
        self.asked.append(options)
        if options.get("top_p") == 0.123:
            raise ValueError("`top_p` has to be larger\nthan that")
        row, seen = tokens[0].tolist(), options.pop("streamer")
        seen.put(tokens)
        for _ in range(options["max_new_tokens"]):
            row.append((row[-1] + 1) % VOCABULARY)
            if row[-1] in options["eos_token_id"]:
                break
        for start in range(tokens.size, len(row), PER_STEP):
            new = row[:start] if start == tokens.size else row[start - 1 : start]
            drafts = [row[start], *[row[start]] * 2] if DRAFTS & set(options) else []
            for hook in self.hooks:
                hook(self, (), {"input_ids": np.array([new + drafts])})
            seen.put(np.array(row[start : start + PER_STEP]))
        seen.end()
        return np.array([row])

    def __call__(self, tokens: np.ndarray) -> Any:
        logits = np.eye(VOCABULARY)[(tokens + 1) % VOCABULARY]
        return SimpleNamespace(logits=[SimpleNamespace(float=lambda: logits[0])])


@pytest.fixture(autouse=True)
def seeds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    drawn: list[int] = []
    torch = SimpleNamespace(
        __version__="2.13.0",
        float32="float32",
        tensor=np.array,
        ones_like=np.ones_like,
        no_grad=nullcontext,
        manual_seed=drawn.append,
    )

    def load(folder: str, **options: Any) -> Model:
        if "none" in folder:
            raise OSError("no file named model.safetensors\nin it")
        return Model(folder)

    package = SimpleNamespace(
        __version__="5.24.0",
        GenerationConfig=SimpleNamespace,
        AutoModelForCausalLM=SimpleNamespace(from_pretrained=load),
        AutoTokenizer=SimpleNamespace(from_pretrained=lambda folder: lambda text: {"input_ids": [1, 2]}),
    )
    monkeypatch.setattr(transformers, "_packages", lambda: (torch, package))
    return drawn


def request(**changes: object) -> Request:
    fields = {"prompt": PROMPT, "sampling": Sampling(top_k=4), "seed": 7, "max_tokens": 4}
    return Request(**(fields | changes))  # type: ignore[arg-type]


def test_choices_are_drawn_with_seeds_of_their_own(seeds):
    response = asyncio.run(TransformersEngine(Path("m")).complete(request(n=3)))
    assert seeds == [7, 8, 9]
    assert [completion.tokens for completion in response.completions] == [(6, 7, 0, 1)] * 3
    assert response.completions[0].finish_reason == "length"
    assert (response.prompt_token_ids, response.completion_tokens) == (PROMPT, 12)


def test_every_parameter_is_sent():
    engine = TransformersEngine(Path("m"))
    asyncio.run(
        engine.complete(request(sampling=Sampling(temperature=0.7, top_k=5, top_p=0.9, min_p=0.1), min_tokens=2))
    )
    (sent,) = engine._model.asked
    assert sent.pop("attention_mask").tolist() == [[1, 1]]
    assert sent == {
        "max_new_tokens": 4,
        "min_new_tokens": 2,
        "do_sample": True,
        "eos_token_id": [VOCABULARY],
        "pad_token_id": 0,
        "repetition_penalty": 1.0,
        "temperature": 0.7,
        "top_k": 5,
        "top_p": 0.9,
        "min_p": 0.1,
    }


def test_no_default_of_the_folder_decides():
    """It may hold what no request names: here what it says beside its ends is forgotten."""
    engine = TransformersEngine(Path("m"))
    config = engine._model.generation_config
    assert vars(config) == {"bos_token_id": None, "eos_token_id": 7, "pad_token_id": None}


def test_ends_are_the_models_own_and_those_that_are_asked_for():
    engine = TransformersEngine(Path("m"))
    response = asyncio.run(engine.complete(request(ignore_eos=False, stop_token_ids=(2,), max_tokens=9)))
    assert engine._model.asked[0]["eos_token_id"] == [2, 7]
    assert response.completions[0].tokens == (6, 7)
    assert response.completions[0].finish_reason == "stop"


def test_an_assistant_drafts_a_constant_number():
    engine = TransformersEngine(Path("m"), draft=Path("d"), draft_tokens=5, ensemble_weight=0.5)
    asyncio.run(engine.complete(request()))
    (sent,) = engine._model.asked
    assert sent["assistant_model"].folder == "d"
    assert vars(sent["assistant_model"].settings) == {
        "num_assistant_tokens": 5,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    assert sent["assistant_ensemble_weight"] == 0.5


def test_what_each_step_drafted_accepted_and_emitted_is_told():
    for engine in (TransformersEngine(Path("m"), lookup=True), TransformersEngine(Path("m"), draft=Path("d"))):
        response = asyncio.run(engine.complete(request(n=2, max_tokens=5)))
        assert response.speculation == {"emitted_per_step": [[2, 2, 1]] * 2, "drafted_per_step": [[3, 3, 3]] * 2}
        steps = Steps(drafted=(3, 3, 3), accepted=(1, 1, 1), emitted=(2, 2, 1), ragged=0, mixed=0)
        assert [completion.steps for completion in response.completions] == [steps] * 2


def test_no_hook_is_left_behind():
    engine = TransformersEngine(Path("m"), lookup=True)
    asyncio.run(engine.complete(request()))
    with pytest.raises(EngineFailure):
        asyncio.run(engine.complete(request(sampling=Sampling(top_p=0.123))))
    assert engine._model.hooks == []


def test_plain_decoding_drafts_nothing():
    response = asyncio.run(TransformersEngine(Path("m")).complete(request()))
    assert response.speculation is None
    assert response.completions[0].steps.drafted == (0, 0)


def test_the_law_is_the_models_raw_one():
    response = asyncio.run(TransformersEngine(Path("m")).complete(request(logprobs=2, score_from=1)))
    likely = 1 - np.log(np.exp(1) + VOCABULARY - 1)
    first, (score,) = response.completions[0].logprobs[0], response.scores
    assert (first.token, first.logprob, first.top[0]) == (6, pytest.approx(likely), (6, pytest.approx(likely)))
    assert (score.token, score.logprob) == (5, pytest.approx(likely - 1))


def test_text_is_tokenized():
    assert asyncio.run(TransformersEngine(Path("m")).complete(request(prompt="ab"))).prompt_token_ids == (1, 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": ()}, "at least one"),
        ({"prompt": (99,)}, "tokens below 8"),
        ({"sampling": Sampling(presence_penalty=1.0)}, "no presence_penalty"),
        ({"sampling": Sampling(grammar="a*")}, "no grammar"),
        ({"sampling": Sampling(top_p=0.123)}, "ValueError: `top_p` has to be larger"),
    ],
)
def test_what_it_does_not_take_is_a_refusal(changes, said):
    with pytest.raises(EngineFailure, match=said):
        asyncio.run(TransformersEngine(Path("m")).complete(request(**changes)))


def arm(engine="transformers", **changes):
    return Arm(**({"role": "subject", "engine": engine, "target": "m"} | changes))


def test_an_arm_says_where_drafts_come_from():
    assert build(arm(speculation="lookup", draft_tokens=2), Access())._drafting == {"prompt_lookup_num_tokens": 2}
    weighted = build(arm("transformers:0.9", draft="d", speculation="draft"), Access())
    assert weighted._drafting["assistant_ensemble_weight"] == 0.9
    assert build(arm("transformers:0.9", role="reference"), Access())._drafting == {}
    probe = asyncio.run(build(arm(), Access()).probe())
    assert (probe.capabilities.draft_tokens, probe.exchanges) == (0, ("transformers 5.24.0, torch 2.13.0",))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (arm(target=None), "needs the folder"),
        (arm(target="none"), "cannot load none: no file named"),
        (arm("transformers:much"), "no assistant_ensemble_weight"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_for_the_user(wrong, said):
    with pytest.raises(UsageError, match=said):
        build(wrong, Access())
