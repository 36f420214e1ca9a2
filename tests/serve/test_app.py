import json
import math

import httpx
import pytest

from specaudit.counters.interface import NoSpeculationCounters
from specaudit.counters.read import read_page
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.processors import SamplingParameters
from specaudit.decoding.worlds import MARKOV4
from specaudit.engines.openai_stream import assembled
from specaudit.engines.reference import ReferenceEngine
from specaudit.engines.sse import payloads
from specaudit.serve.app import make_app
from specaudit.serve.switches import AS_VLLM, Switches
from tests.engines.serving import recorded, running


class Client:
    """A plain HTTP client, which shares no code with the adapter."""

    def __init__(self, address):
        self._http = httpx.Client(base_url=address, trust_env=False)

    def get(self, path):
        return self._http.get(path)

    def post(self, **body):
        return self._http.post("/v1/completions", json={"model": "markov4", "prompt": [0, 1], "max_tokens": 5, **body})

    def chat(self, **body):
        return self.at("/v1/chat/completions", {"model": "markov4", **body})

    def at(self, path, body):
        return self._http.post(path, json=body)

    def send(self, content):
        return self._http.post("/v1/completions", content=content)

    def tokens(self, **body):
        choices = self.post(return_token_ids=True, **body).raise_for_status().json()["choices"]
        return [choice["token_ids"] for choice in choices]

    def reading(self):
        page = self.get("/metrics")
        (reading,) = read_page(page.text, page.headers["content-type"])
        return reading

    def close(self):
        self._http.close()


def serving(draft_tokens, switches=AS_VLLM):
    engine = ReferenceEngine(SpeculativeDecoder(MARKOV4, draft_tokens=draft_tokens))
    with running(make_app(engine, switches)) as address:
        client = Client(address)
        yield client
        client.close()


@pytest.fixture(scope="module")
def speculating():
    yield from serving(3)


@pytest.fixture(scope="module")
def plain():
    yield from serving(0)


def test_the_model_is_listed(speculating):
    answer = speculating.get("/v1/models")
    assert answer.headers["content-type"] == "application/json"
    listing = answer.json()
    (model,) = listing["data"]
    assert listing["object"] == "list"
    assert (model["id"], model["object"], model["vocab_size"]) == ("markov4", "model", 4)
    assert listing.keys() == recorded("vllm_models").keys()


def test_health(speculating):
    answer = speculating.get("/health")
    assert (answer.status_code, answer.content) == (200, b"")


class TestCompletions:
    def test_an_answer_has_vllms_form(self, speculating):
        answer = speculating.post(n=3, return_token_ids=True)
        assert answer.status_code == 200
        got, vllms = answer.json(), recorded("vllm_n3")
        assert got.keys() <= vllms.keys()
        assert got["object"] == vllms["object"]
        assert all(choice.keys() <= vllms["choices"][0].keys() for choice in got["choices"])
        assert [choice["index"] for choice in got["choices"]] == [0, 1, 2]
        assert got["usage"] == {"prompt_tokens": 2, "completion_tokens": 15, "total_tokens": 17}

    def test_answers_have_names_of_their_own(self, speculating):
        assert speculating.post().json()["id"] != speculating.post().json()["id"]

    def test_text_and_ids_are_the_same_prompt(self, speculating):
        assert speculating.tokens(prompt="ab", seed=1) == speculating.tokens(prompt=[0, 1], seed=1)

    @pytest.mark.parametrize("prompts", [["ab", "c"], [[0, 1], [2]]])
    def test_a_batch_is_answered_prompt_by_prompt(self, speculating, prompts):
        batch = speculating.tokens(prompt=prompts, seed=1, n=2)
        assert batch == [word for prompt in prompts for word in speculating.tokens(prompt=prompt, seed=1, n=2)]

    def test_choice_i_has_seed_plus_i(self, speculating):
        together = speculating.tokens(seed=50, n=4)
        assert together == [speculating.tokens(seed=50 + i)[0] for i in range(4)]

    def test_a_seed_gives_the_same_again(self, speculating):
        assert speculating.tokens(seed=3, max_tokens=40) == speculating.tokens(seed=3, max_tokens=40)

    def test_requests_without_a_seed_differ(self, speculating):
        words = [tuple(word) for _ in range(20) for word in speculating.tokens(max_tokens=40)]
        words += [tuple(word) for word in speculating.tokens(prompt=["a"] * 10, n=3, max_tokens=40)]
        assert len(set(words)) == 50

    @pytest.mark.parametrize("seed", [0, -1, 1 << 31, 1 << 63, -(1 << 63), 1 << 64])
    def test_any_whole_number_is_a_seed(self, speculating, seed):
        assert speculating.tokens(seed=seed, n=2) == speculating.tokens(seed=seed, n=2)

    def test_greedy_is_the_targets_argmax(self, speculating, plain):
        greedy = speculating.tokens(temperature=0, max_tokens=12)
        assert greedy == plain.tokens(temperature=0, max_tokens=12)
        context = 1
        for token in greedy[0]:
            assert token == MARKOV4.target.probabilities(context, SamplingParameters()).argmax()
            context = token

    def test_filters_reach_the_decoder(self, speculating):
        assert {tuple(word) for word in speculating.tokens(top_k=1, n=20)} == {
            tuple(speculating.tokens(temperature=0)[0])
        }
        assert {word[0] for word in speculating.tokens(top_p=0.6, n=50)} == {2, 0}

    def test_a_stop_token_ends_a_completion(self, speculating):
        choices = speculating.post(stop_token_ids=[2], n=30, seed=1, max_tokens=30, return_token_ids=True).json()[
            "choices"
        ]
        stopped = [choice for choice in choices if choice["finish_reason"] == "stop"]
        assert stopped
        for choice in stopped:
            assert choice["token_ids"].index(2) == len(choice["token_ids"]) - 1
            assert choice["text"].endswith("c")

    @pytest.mark.parametrize("stop", ["dc", ["dc", "bd"]])
    def test_a_stop_string_ends_a_completion_but_not_before_min_tokens(self, speculating, stop):
        choices = speculating.post(stop=stop, min_tokens=4, n=30, seed=1, max_tokens=60).json()["choices"]
        stopped = [choice["text"] for choice in choices if choice["finish_reason"] == "stop"]
        assert len(stopped) > 10
        assert all(text.endswith(tuple([stop] if isinstance(stop, str) else stop)) for text in stopped)
        assert min(map(len, stopped)) >= 6

    @pytest.mark.parametrize(("as_ids", "words"), [(False, "abcd"), (True, [f"token_id:{i}" for i in range(4)])])
    def test_logprobs_are_the_targets(self, speculating, as_ids, words):
        (choice,) = speculating.post(
            seed=1, logprobs=4, return_token_ids=True, return_tokens_as_token_ids=as_ids
        ).json()["choices"]
        logprobs, context = choice["logprobs"], 1
        assert logprobs["tokens"] == [words[token] for token in choice["token_ids"]]
        for i, token in enumerate(choice["token_ids"]):
            row = MARKOV4.target.probabilities(context, SamplingParameters())
            assert logprobs["token_logprobs"][i] == pytest.approx(math.log(row[token]))
            assert logprobs["top_logprobs"][i] == pytest.approx({words[j]: math.log(row[j]) for j in range(4)})
            context = token

    def test_unknown_fields_are_ignored_as_vllm_does(self, speculating):
        assert speculating.tokens(seed=1, no_such_field=1) == speculating.tokens(seed=1)


class TestErrors:
    def test_another_model_is_not_found(self, speculating):
        answer = speculating.post(model="nope")
        assert answer.status_code == 404
        expected = recorded("vllm_error_404")
        expected["error"]["message"] = "The model `nope` does not exist. Valid aliases: markov4."
        assert answer.json() == expected

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"max_tokens": 0}, "Expected `int` >= 1 - at `$.max_tokens`"),
            ({"n": 1000}, "Expected `int` <= 256 - at `$.n`"),
            ({"logprobs": 21}, "at `$.logprobs`"),
            ({"prompt": [0, 4]}, "token 4 is not one of 4"),
            ({"prompt": [[0], [-1]]}, "token -1 is not one of 4"),
            ({"prompt": [0, "a"]}, "prompt mixes token ids with prompts"),
            ({"stop_token_ids": [7]}, "token 7 is not one of 4"),
            ({"stop_token_ids": [1 << 80]}, "is not one of 4"),
            ({"temperature": "hot"}, "at `$.temperature`"),
            ({"stream": "yes"}, "at `$.stream`"),
        ],
    )
    def test_a_wrong_request_is_refused_in_vllms_form(self, speculating, wrong, said):
        before = speculating.reading().requests_finished
        answer = speculating.post(**wrong)
        assert answer.status_code == 400
        got, vllms = answer.json()["error"], recorded("vllm_error_400")["error"]
        assert said in got.pop("message")
        vllms.pop("message")
        assert got == vllms
        assert speculating.reading().requests_finished == before

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"{}",
            b'{"model": "markov4", "prompt": NaN}',
            b'{"model": "markov4", "x": ' + b"[" * 100_000,
            b"[" * 100_000,
            b"\xff\xfe",
        ],
    )
    def test_what_is_no_request_is_refused(self, speculating, content):
        answer = speculating.send(content)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "BadRequestError"

    @pytest.mark.parametrize("path", ["/", "/v1", "/v1/completions", "/v1/chat/completions", "/v1/embeddings"])
    def test_other_addresses_are_not_served(self, speculating, path):
        assert speculating.get(path).status_code in (404, 405)


class TestMetrics:
    def test_the_page_says_what_was_generated(self, speculating):
        before = speculating.reading()
        answers = [speculating.post(n=5, seed=10 * i, max_tokens=7, stop_token_ids=[3]).json() for i in range(4)]
        after = speculating.reading()
        emitted = sum(answer["usage"]["completion_tokens"] for answer in answers)
        assert after.generation_tokens - before.generation_tokens == emitted
        assert after.requests_finished - before.requests_finished == 20
        assert 0 < after.accepted - before.accepted < emitted
        assert sum(after.accepted_per_position) == after.accepted
        assert (after.requests_running, after.waiting, after.asleep) == (0, 0, False)
        assert after.marker == before.marker

    def test_the_page_is_classic_prometheus_text(self, speculating):
        assert speculating.get("/metrics").headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"

    def test_a_plain_server_counts_no_speculation(self, plain):
        with pytest.raises(NoSpeculationCounters):
            plain.reading()
        assert "vllm:generation_tokens_total" in plain.get("/metrics").text


class TestChat:
    def ask(self, client, **body):
        return client.chat(messages=[{"role": "user", "content": "ab"}], seed=1, max_tokens=5, **body)

    def test_the_template_is_part_of_the_prompt(self, speculating):
        told = self.ask(speculating, return_token_ids=True).json()
        assert told["prompt_token_ids"] == [1, 0, 1, 2]
        assert told["usage"]["prompt_tokens"] == 4

    def test_what_is_said_is_what_completes_the_rendered_prompt(self, speculating):
        said = self.ask(speculating, n=3).json()["choices"]
        completed = speculating.post(prompt="babc", seed=1, n=3).json()["choices"]
        assert [choice["message"]["content"] for choice in said] == [choice["text"] for choice in completed]

    def test_a_template_without_a_role_refuses_it(self, speculating):
        answer = speculating.chat(messages=[{"role": "tool", "content": "x"}])
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "the chat template has no role 'tool'")

    def test_logprobs_are_the_targets(self, speculating):
        (choice,) = self.ask(speculating, logprobs=True, top_logprobs=4).json()["choices"]
        assert [position["token"] for position in choice["logprobs"]["content"]] == list(choice["message"]["content"])
        assert all(len(position["top_logprobs"]) == 4 for position in choice["logprobs"]["content"])


class TestStreams:
    @pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
    def test_a_stream_says_what_would_have_come_whole(self, speculating, path):
        body = {"model": "markov4", "prompt": "babc", "messages": [{"role": "user", "content": "ab"}]}
        body |= {"seed": 3, "n": 2, "max_tokens": 9, "return_token_ids": True}
        whole = speculating.at(path, body).json()
        answer = speculating.at(path, {**body, "stream": True, "stream_options": {"include_usage": True}})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.text.endswith("data: [DONE]\n\n")
        got = assembled([json.loads(event) for event in payloads(answer.content) if event != "[DONE]"])
        assert got["usage"] == whole["usage"]
        assert [choice["token_ids"] for choice in got["choices"]] == [
            choice["token_ids"] for choice in whole["choices"]
        ]

    def test_a_wrong_request_is_refused_before_the_stream(self, speculating):
        answer = speculating.post(stream=True, n=0)
        assert answer.status_code == 400
        assert answer.json()["error"]["type"] == "BadRequestError"


def switched(**switches):
    """A client of a server with these switches."""
    return serving(3, Switches(**switches))


class TestSwitches:
    def test_chat_only(self):
        for client in switched(chat_only=True):
            assert client.post().status_code == 404
            assert client.chat(messages=[{"role": "user"}]).status_code == 200

    def test_a_refusal_names_the_field(self):
        for client in switched(refuse=("top_k",)):
            answer = client.post(top_k=-1)
            assert answer.status_code == 400
            assert answer.json()["error"]["param"] == "top_k"

    def test_without_token_ids_none_are_told(self):
        for client in switched(token_ids=False):
            (choice,) = client.post(prompt="ab", return_token_ids=True, logprobs=1).json()["choices"]
            assert "token_ids" not in choice
            assert "vocab_size" not in client.get("/v1/models").json()["data"][0]

    def test_the_rate_limit_says_when_to_come_back(self):
        for client in switched(rate_limit=1):
            assert client.post().status_code == 200
            answer = client.post()
            assert answer.status_code == 429
            assert 55 <= int(answer.headers["retry-after"]) <= 60
            assert answer.json()["error"]["type"] == "RateLimitError"

    def test_a_cache_repeats_itself_and_says_so(self):
        for client in switched(cache="body"):
            first, again, other = (
                client.post(max_tokens=30, **body) for body in ({"seed": 1}, {"seed": 2}, {"user": "u"})
            )
            assert [answer.headers["x-cache"] for answer in (first, again, other)] == ["MISS", "HIT", "MISS"]
            assert again.json()["choices"] == first.json()["choices"] != other.json()["choices"]
            assert again.json()["usage"]["prompt_tokens_details"] == {"cached_tokens": 2}
            assert client.reading().requests_finished == 2

    @pytest.mark.parametrize("asked", [{}, {"temperature": 0.0}])
    def test_a_fixed_temperature_is_the_one_that_is_used(self, asked):
        for client in switched(fixed_temperature=0.0, ignore_temperature=True):
            assert len({tuple(word) for word in client.tokens(n=20, **asked)}) == 1
        for client in switched(fixed_temperature=2.0, ignore_temperature=True):
            assert len({tuple(word) for word in client.tokens(n=20, **asked)}) > 1

    def test_reasoning_comes_before_the_answer(self):
        for client in switched(reasoning=True):
            answer = client.chat(messages=[{"role": "user"}], n=20, max_completion_tokens=30, return_token_ids=True)
            told = answer.json()
            counted = 0
            for choice in told["choices"]:
                end = choice["token_ids"].index(3) if 3 in choice["token_ids"] else 30
                assert choice["message"]["reasoning_content"] == "".join("abcd"[i] for i in choice["token_ids"][:end])
                counted += min(30, end + 1)
            assert told["usage"]["completion_tokens_details"] == {"reasoning_tokens": counted}

    def test_the_date_is_part_of_the_prompt(self):
        for client in switched(template_date="1 Dec 2026"):
            told = client.chat(messages=[{"role": "user", "content": "ab"}]).json()
            assert told["usage"]["prompt_tokens"] == 4 + len("a1 Dec 2026")
