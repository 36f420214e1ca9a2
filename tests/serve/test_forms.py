import msgspec
import pytest

from specaudit.model.completion import Completion, Response, TokenLogprobs
from specaudit.model.request import Request, Sampling
from specaudit.serve.forms import CompletionForm, answer, error, letters


def form(**fields):
    return msgspec.convert({"model": "m", **fields}, CompletionForm)


def requests(unseeded=1000, **fields):
    return form(**fields).requests(unseeded=unseeded)


def test_what_is_left_out_has_openais_defaults():
    assert requests(prompt="ab") == [
        Request(prompt="ab", sampling=Sampling(), seed=1000, n=1, max_tokens=16, ignore_eos=False, logprobs=None)
    ]


def test_what_is_asked_for_is_in_the_request():
    asked = requests(
        prompt=[1, 2],
        max_tokens=3,
        n=4,
        seed=-5,
        temperature=0,
        top_p=0.5,
        top_k=2,
        logprobs=0,
        stop_token_ids=[3],
        ignore_eos=True,
    )
    assert asked == [
        Request(
            prompt=(1, 2),
            sampling=Sampling(temperature=0.0, top_p=0.5, top_k=2),
            seed=-5,
            n=4,
            max_tokens=3,
            stop_token_ids=(3,),
            ignore_eos=True,
            logprobs=0,
        )
    ]


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("", [""]),
        ("ab", ["ab"]),
        ([], [()]),
        ([0, 3], [(0, 3)]),
        (["a", "b"], ["a", "b"]),
        ([[0], [1, 2], []], [(0,), (1, 2), ()]),
    ],
)
def test_a_prompt_has_four_forms(prompt, prompts):
    assert [request.prompt for request in requests(prompt=prompt)] == prompts


@pytest.mark.parametrize("prompt", [[0, "a"], [[0], 1], ["a", 1, [2]]])
def test_a_prompt_cannot_mix_ids_with_prompts(prompt):
    with pytest.raises(ValueError, match="prompt mixes token ids with prompts"):
        requests(prompt=prompt)


def test_a_seed_serves_every_prompt():
    assert [request.seed for request in requests(prompt=["a", "b"], seed=7, n=3)] == [7, 7]


def test_without_a_seed_no_two_draws_share_one():
    assert [request.seed for request in requests(prompt=["a", "b", "a"], n=3)] == [1000, 1003, 1006]


@pytest.mark.parametrize("top_k", [-1, 0])
def test_top_k_may_be_switched_off_in_two_ways(top_k):
    assert requests(top_k=top_k)[0].sampling.top_k == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt": 5},
        {"prompt": None},
        {"prompt": [1.5]},
        {"prompt": [None]},
        {"prompt": [[["a"]]]},
        {"max_tokens": 0},
        {"max_tokens": 1 << 20},
        {"n": 0},
        {"n": 257},
        {"seed": 1.5},
        {"seed": "7"},
        {"temperature": -0.1},
        {"top_p": 0},
        {"top_p": 1.1},
        {"top_k": -2},
        {"logprobs": -1},
        {"logprobs": 21},
        {"logprobs": True},
        {"stop_token_ids": [None]},
        {"stream": "yes"},
        {"model": None},
    ],
)
def test_a_wrong_field_is_named(wrong):
    (field,) = wrong
    with pytest.raises(msgspec.ValidationError, match=rf"at `\$\.{field}"):
        form(**wrong)


def test_unknown_fields_are_ignored():
    assert form(prompt="a", min_p=0.5, best_of=3) == form(prompt="a")


POSITIONS = (TokenLogprobs(token=1, logprob=-0.5, top=((1, -0.5), (3, -1.0))), TokenLogprobs(token=2, logprob=None))
RESPONSES = [
    Response(
        completions=(
            Completion(tokens=(1, 2), finish_reason="length", logprobs=POSITIONS),
            Completion(tokens=(0,), finish_reason="stop", logprobs=POSITIONS[:1]),
        ),
        prompt_token_ids=(3, 3, 3),
        prompt_tokens=3,
        completion_tokens=3,
    ),
    Response(
        completions=(Completion(tokens=(), finish_reason="stop"),),
        prompt_token_ids=(),
        prompt_tokens=0,
        completion_tokens=0,
    ),
]


def answered(**fields):
    return answer(form(**fields), RESPONSES, identity="cmpl-1", created=9)


def test_the_choices_of_all_prompts_are_numbered_through():
    got = answered()
    assert {name: got[name] for name in ("id", "object", "created", "model")} == {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 9,
        "model": "m",
    }
    assert [(c["index"], c["text"], c["finish_reason"]) for c in got["choices"]] == [
        (0, "bc", "length"),
        (1, "a", "stop"),
        (2, "", "stop"),
    ]
    assert got["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}


def test_token_ids_are_told_when_they_are_asked_for():
    assert all("token_ids" not in choice for choice in answered()["choices"])
    ids = [(c["token_ids"], c["prompt_token_ids"]) for c in answered(return_token_ids=True)["choices"]]
    assert ids == [((1, 2), (3, 3, 3)), ((0,), (3, 3, 3)), ((), ())]


def test_logprobs_are_written_in_letters():
    first, _, last = answered()["choices"]
    assert first["logprobs"] == {
        "text_offset": [0, 1],
        "tokens": ["b", "c"],
        "token_logprobs": [-0.5, None],
        "top_logprobs": [{"b": -0.5, "d": -1.0}, {}],
    }
    assert last["logprobs"] is None


def test_logprobs_are_written_in_ids_when_they_are_asked_for():
    logprobs = answered(return_tokens_as_token_ids=True)["choices"][0]["logprobs"]
    assert logprobs["tokens"] == ["token_id:1", "token_id:2"]
    assert logprobs["top_logprobs"] == [{"token_id:1": -0.5, "token_id:3": -1.0}, {}]


def test_tokens_are_letters():
    assert letters([0, 1, 25]) == "abz"


def test_an_error_has_vllms_form():
    assert error("no", "NotFoundError", 404, param="model") == {
        "error": {"message": "no", "type": "NotFoundError", "param": "model", "code": 404}
    }
