import pytest

from specaudit.engines.manner import Manner
from specaudit.engines.openai_form import NEUTRAL, OPTIONAL, TEMPLATE_DATE
from specaudit.model.request import Sampling
from tests.engines.serving import a_request, body_of


def chat(**changes):
    return Manner(model="toy", api="chat", **changes)


def test_a_conversation_asks_in_its_own_words():
    body = body_of(chat(), max_tokens=5, logprobs=3)
    assert chat().path == "chat/completions"
    assert body["messages"] == [{"role": "user", "content": "The"}]
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (5, True, 3)
    assert "prompt" not in body


def test_templates_are_told_the_date():
    assert body_of(chat())["chat_template_kwargs"] == {"date_string": TEMPLATE_DATE}
    assert "chat_template_kwargs" not in body_of(Manner(model="toy"))


@pytest.mark.parametrize("manner", [Manner(model="toy"), chat()])
def test_all_else_is_the_same_in_both_interfaces(manner):
    body = body_of(manner, n=2)
    assert {name: body[name] for name in NEUTRAL} == NEUTRAL
    assert (body["n"], body["seed"], body["stream"]) == (2, 7, False)
    assert "logprobs" not in body


def test_one_choice_needs_no_word():
    assert "n" not in body_of(Manner(model="toy"), n=1)


def test_a_stream_is_asked_to_count():
    body = body_of(chat(stream=True))
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})
    assert "stream_options" not in body_of(chat(stream=True, refused=("stream_options",)))


def test_the_cap_may_have_another_name():
    body = body_of(chat(cap="max_completion_tokens"), max_tokens=9)
    assert body["max_completion_tokens"] == 9
    assert "max_tokens" not in body


def test_users_are_named_where_that_gets_past_a_cache():
    named = chat(users="a")
    assert [body_of(named, seed=seed)["user"] for seed in (1, 2)] == ["a-1", "a-2"]
    assert "user" not in body_of(chat())


def test_the_prompts_own_logprobs_are_asked_for():
    body = body_of(Manner(model="toy"), prompt=(1, 2), logprobs=4, score_from=1)
    assert body["prompt_logprobs"] == 4
    assert "prompt_logprobs" not in body_of(Manner(model="toy"))


def cannot_ask(manner, **changes):
    request = a_request(**changes)
    return manner.cannot_ask(request, manner.fields(request), "It")


class TestCannotAsk:
    @pytest.mark.parametrize(
        ("manner", "changes", "said"),
        [
            (
                chat(refused=("top_k",)),
                {"sampling": Sampling(top_k=4)},
                "It refuses top_k, which this request needs.",
            ),
            (
                chat(refused=("temperature",)),
                {"sampling": Sampling(temperature=0.5)},
                "It refuses temperature, which this request needs.",
            ),
            (
                chat(only_neutral_temperature=True),
                {"sampling": Sampling(temperature=0)},
                "It refuses every temperature but 1, which this request needs.",
            ),
            (chat(), {"prompt": (1, 2)}, "A conversation is text, and this request's prompt is token ids."),
        ],
    )
    def test_what_a_request_needs_is_not_left_out_in_silence(self, manner, changes, said):
        assert cannot_ask(manner, **changes) == said

    @pytest.mark.parametrize("manner", [chat(refused=OPTIONAL), chat(only_neutral_temperature=True)])
    def test_neutral_values_are(self, manner):
        assert cannot_ask(manner) == ""


def test_stop_rules_go_out_only_where_there_are_some():
    body = body_of(Manner(model="toy"), stop=("\n", "end"), stop_token_ids=(3,), min_tokens=2)
    assert (body["stop"], body["stop_token_ids"], body["min_tokens"]) == (("\n", "end"), (3,), 2)
    assert not {"stop", "stop_token_ids", "min_tokens"} & set(body_of(Manner(model="toy")))


def test_the_number_of_drafts_is_the_servers_own():
    assert "number of drafts" in cannot_ask(Manner(model="toy"), draft_tokens=1)
