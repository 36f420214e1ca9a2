import msgspec
import pytest

from specaudit.model.request import Request, Sampling
from specaudit.serve.forms import ChatForm, CompletionForm


def form(**fields):
    return msgspec.convert({"model": "m", **fields}, CompletionForm, str_keys=True)


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
        {"min_p": 1.5},
        {"repetition_penalty": 0},
        {"presence_penalty": 3},
        {"frequency_penalty": -3},
        {"logit_bias": {"0": 200}},
        {"allowed_token_ids": 3},
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
    with pytest.raises(msgspec.ValidationError, match=rf"`\$\.{field}"):
        form(**wrong)


def test_unknown_fields_are_ignored():
    assert form(prompt="a", mirostat=2, best_of=3) == form(prompt="a")


def test_every_filter_is_in_the_request():
    sampling = requests(
        min_p=0.1,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=-0.4,
        logit_bias={"3": 1.5, "0": -100},
        allowed_token_ids=[0, 3],
    )[0].sampling
    assert sampling == Sampling(
        min_p=0.1,
        repetition_penalty=1.2,
        presence_penalty=0.3,
        frequency_penalty=-0.4,
        logit_bias=((0, -100.0), (3, 1.5)),
        allowed_token_ids=(0, 3),
    )


def test_a_prompt_may_be_scored():
    (request,) = requests(prompt_logprobs=3)
    assert (request.score_from, request.logprobs) == (1, 3)
    assert requests(logprobs=3)[0].score_from is None


def chat(**fields):
    return msgspec.convert({"model": "m", "messages": [{"role": "user", "content": "ab"}], **fields}, ChatForm)


def test_a_conversation_is_one_prompt():
    assert [request.prompt for request in chat().requests(unseeded=0)] == ["babc"]


@pytest.mark.parametrize(
    ("fields", "date", "prompt"),
    [
        ({}, "29 Nov 2026", "a29 Nov 2026babc"),
        ({"chat_template_kwargs": {"date_string": "1 Jan"}}, "29 Nov 2026", "a1 Janbabc"),
        ({"chat_template_kwargs": {"date_string": "1 Jan"}}, None, "babc"),
        ({"chat_template_kwargs": {"enable_thinking": True}}, "1 Jan", "a1 Janbabc"),
    ],
)
def test_a_template_prints_the_date_unless_another_is_pinned(fields, date, prompt):
    assert chat(**fields).requests(unseeded=0, date=date)[0].prompt == prompt


@pytest.mark.parametrize(
    ("fields", "cap"),
    [
        ({}, 16),
        ({"max_tokens": 3}, 3),
        ({"max_completion_tokens": 4}, 4),
        ({"max_tokens": 3, "max_completion_tokens": 4}, 4),
    ],
)
def test_the_cap_of_a_conversation_has_two_names(fields, cap):
    assert chat(**fields).requests(unseeded=0)[0].max_tokens == cap


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [({}, None), ({"logprobs": True}, 0), ({"logprobs": True, "top_logprobs": 5}, 5), ({"top_logprobs": 5}, None)],
)
def test_a_conversations_logprobs_are_asked_for_in_two_fields(fields, wanted):
    assert chat(**fields).requests(unseeded=0)[0].logprobs == wanted


@pytest.mark.parametrize(("messages", "said"), [([], "must not be empty"), ([{"role": "tool"}], "no role 'tool'")])
def test_what_the_template_cannot_render_is_refused(messages, said):
    with pytest.raises(ValueError, match=said):
        chat(messages=messages).requests(unseeded=0)


def test_without_a_temperature_it_is_1():
    assert chat().requests(unseeded=0)[0].sampling.temperature == 1
    assert chat(temperature=0.5).requests(unseeded=0)[0].sampling.temperature == 0.5
