import asyncio
from collections.abc import Iterator

import pytest
import stamina
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse

from specaudit.engines.interface import Access
from specaudit.engines.manner import Manner
from specaudit.engines.openai_form import OPTIONAL
from specaudit.engines.server import ServerEngine
from specaudit.model.request import Sampling
from specaudit.prompts.tokenizers import load_tokenizer
from tests.engines.serving import (
    a_request,
    body_of,
    closed_address,
    completion,
    failure,
    not_tested,
    probe,
    raw,
    read_request,
    recorded,
    text,
)

SENT = tuple(field for field in OPTIONAL if field in body_of(Manner(model="toy")))
"""The optional fields of a completion that is not streamed."""

KEY = "sk-Very/secret+key=="


@pytest.fixture(autouse=True)
def no_waiting() -> Iterator[None]:
    stamina.set_testing(True, attempts=3)
    yield
    stamina.set_testing(False)


def found(server, **options):
    return probe(server.address, **options).capabilities


def opened(address):
    return ServerEngine(address, manner=Manner(model=None), access=Access())


def refusing(*fields, message="That is not allowed.", status=400):
    """Completions by a server that refuses fields."""

    def reply(body):
        if any(field in body for field in fields):
            return JSONResponse({"error": {"message": message}}, status)
        return JSONResponse(completion(body))

    return reply


class TestAnHonestServer:
    def test_what_it_reveals_is_found(self, odd):
        capabilities = found(odd())
        assert capabilities.model == "toy"
        assert capabilities.tokens == "ids"
        assert capabilities.token_prompts
        assert capabilities.vocabulary_size is None
        assert (capabilities.max_choices, capabilities.logprobs, capabilities.logprobs_mode) == (64, 20, "raw")
        assert capabilities.refused == ()

    def test_few_short_requests_are_enough(self, odd):
        server = odd()
        exchanges = probe(server.address).exchanges
        assert len(server.bodies) == 15
        assert len(exchanges) == 17
        assert sum(body["max_tokens"] for body in server.bodies) == 162
        assert {body["model"] for body in server.bodies} == {"toy"}
        assert exchanges[0] == "GET /models: toy"
        assert exchanges[1] == "engine: openai"
        assert exchanges[2] == "POST /completions: 1 choices, first tokens (1, 2)"


class TestModels:
    def test_the_first_that_is_listed_is_asked_for(self, odd):
        assert found(odd(models=JSONResponse({"data": [{"id": "b"}, {"id": "a"}]}))).model == "b"

    def test_a_named_one_is_asked_for(self, odd):
        server = odd(models=JSONResponse({"data": [{"id": "b"}, {"id": "a"}]}))
        assert found(server, model="a").model == "a"
        assert {body["model"] for body in server.bodies} == {"a"}

    def test_one_that_is_not_served_is_said(self, odd):
        server = odd(models=JSONResponse({"data": [{"id": "big-model"}, {"id": "other"}]}))
        error = not_tested(server.address, model="bigmodel")
        assert error.message == (
            f"{server.address} does not serve the model 'bigmodel'; it serves: big-model, other. "
            "Did you mean 'big-model'?"
        )
        assert error.hint == f"specaudit run --endpoint {server.address} --model big-model"
        assert server.bodies == []

    def test_of_many_only_some_are_said(self, odd):
        many = JSONResponse({"data": [{"id": f"model-{i}"} for i in range(5000)]})
        assert len(not_tested(odd(models=many).address, model="x").message) < 300

    @pytest.mark.parametrize(
        "listing",
        [
            "{}",
            '{"data": []}',
            '{"data": null}',
            '{"data": {}}',
            '{"data": "toy"}',
            '{"data": [null, 5, "toy", []]}',
            '{"data": [{"id": 5}, {"id": ["a"]}, {"id": null}, {"name": "toy"}]}',
        ],
    )
    def test_an_empty_list_needs_a_name(self, odd, listing):
        server = odd(models=text(listing))
        error = not_tested(server.address)
        assert error.message == f"{server.address} lists no model."
        assert error.hint == f"specaudit run --endpoint {server.address} --model NAME"
        assert found(server, model="toy").model == "toy"

    @pytest.mark.parametrize("status", [404, 405])
    def test_a_missing_list_needs_a_name(self, odd, status):
        server = odd(models=text("", status))
        assert f"answered {status}" in not_tested(server.address).message
        assert found(server, model="toy").tokens == "ids"

    def test_a_name_that_is_unknown_to_a_server_without_list_is_said(self, odd):
        server = odd(models=text("", 404), completions=JSONResponse(recorded("vllm_error_404"), 404))
        error = not_tested(server.address, model="nope")
        assert error.message.endswith("answered 404: The model `nope` does not exist. Valid aliases: target.")

    @pytest.mark.parametrize("name", ["vllm_models", "llamacpp_models"])
    def test_recorded_lists_are_read(self, odd, name):
        listed = recorded(name)["data"][0]["id"]
        assert found(odd(models=JSONResponse(recorded(name)))).model == listed

    @pytest.mark.parametrize(("told", "size"), [(4, 4), (0, None), (-1, None), (True, None), (4.0, None), ("4", None)])
    def test_the_size_of_the_vocabulary_is_taken_where_it_is_one(self, odd, told, size):
        assert found(odd(models=JSONResponse({"data": [{"id": "a", "vocab_size": told}]}))).vocabulary_size == size

    def test_a_name_cannot_steer_the_terminal(self, odd):
        server = odd(models=JSONResponse({"data": [{"id": "a\x1b[2J\nb"}]}))
        error = not_tested(server.address, model="toy")
        assert (error.message + error.hint).isprintable()
        assert all(line.isprintable() for line in probe(server.address).exchanges)


class TestServersThatCannotBeTested:
    @pytest.mark.parametrize(
        ("models", "said", "hint"),
        [
            (HTMLResponse("<html>hello"), "answered with a web page", "Does the address end in /v1?"),
            (HTMLResponse("<html><title>Bad Gateway</title>", 502), "answered 502: Bad Gateway", "curl"),
            (text("{", 200), "answered with something that is not JSON", "Does the address end in /v1?"),
            (text("[]", 200), "answered with JSON that is not an object", "Does the address end in /v1?"),
            (text('"models"', 200), "answered with JSON that is not an object", "Does the address end in /v1?"),
            (text("", 401), "answered 401: Unauthorized", "export OPENAI_API_KEY=…"),
            (text("", 403), "answered 403: Forbidden", "export OPENAI_API_KEY=…"),
            (text("", 404), "answered 404: Not Found", "Does the address end in /v1?"),
            (text("", 429), "answered 429: Too Many Requests", "specaudit run --resume DIR, later"),
            (text("", 500), "answered 500: Internal Server Error", "curl"),
            (text("", 503), "answered 503: Service Unavailable", "curl"),
            (RedirectResponse("https://elsewhere/v1/models"), "it redirects to 'https://elsewhere/v1/models'", "curl"),
        ],
    )
    @pytest.mark.parametrize("where", ["models", "completions"])
    def test_one_sentence_and_the_next_command(self, odd, models, said, hint, where):
        error = not_tested(odd(**{where: models}).address)
        assert said in error.message
        assert error.hint.startswith(hint)
        assert error.exit_code == 3

    def test_nobody_listens(self):
        address = closed_address()
        error = not_tested(address)
        assert error.message == f"Nothing answers at {address}/models."
        assert error.hint == f"Is the server running? curl {address}/models"

    def test_a_server_that_never_answers(self):
        async def silence(reader, writer):
            await reader.read()
            await reader.read()

        async def use():
            async with raw(silence) as address:
                return await asyncio.to_thread(not_tested, address, timeout=0.1)

        assert asyncio.run(use()).message.endswith("did not finish its answer in time.")

    def test_a_server_that_dies_while_it_is_probed(self):
        """It lists its models, takes the first completion, and is gone."""

        async def use():
            served = []

            async def behave(reader, writer):
                served.append(1)
                await read_request(reader)
                if len(served) == 1:
                    writer.write(b'HTTP/1.0 200 OK\r\n\r\n{"data": [{"id": "toy"}]}')
                else:
                    server_closing.set()

            server_closing = asyncio.Event()
            async with raw(behave) as address:
                error = await asyncio.to_thread(not_tested, address)
                assert server_closing.is_set()
                return error

        assert asyncio.run(use()).message.endswith("closed the connection before its answer was whole.")

    def test_no_choices(self, odd):
        error = not_tested(odd(completions=JSONResponse({"choices": []})).address)
        assert error.message.endswith("answers without choices.")

    @pytest.mark.parametrize("answer", ['{"choices": null}', "{}", '{"choices": [{"token_ids": [-1]}]}'])
    def test_completions_that_cannot_be_read(self, odd, answer):
        assert "cannot be read" in not_tested(odd(completions=text(answer)).address).message

    @pytest.mark.parametrize("where", ["models", "completions"])
    def test_the_key_is_in_no_sentence(self, odd, where):
        echo = JSONResponse({"error": {"message": f"Bearer {KEY} is not known"}}, 401)
        error = not_tested(odd(**{where: echo}).address, key=KEY)
        assert "Bearer [key] is not known" in error.message
        assert "secret" not in repr(error) + error.hint

    def test_the_addresss_secrets_are_in_no_sentence(self, odd):
        server = odd(models=text("?api_key=hidden for me:hidden", 403))
        error = not_tested(server.address.replace("//", "//me:hidden@") + "?api_key=hidden")
        assert "hidden" not in repr(error) + error.hint


class TestRefusedFields:
    def test_none_where_none_is_refused(self, odd):
        assert found(odd()).refused == ()

    @pytest.mark.parametrize("field", SENT)
    @pytest.mark.parametrize("status", [400, 422, 500])
    def test_one_is_found_though_the_message_names_none(self, odd, field, status):
        server = odd(completions=refusing(field, status=status))
        assert found(server).refused == (field,)

    def test_one_is_found_though_the_message_names_others(self, odd):
        message = "min_p is not allowed in {'return_token_ids': True, 'top_k': -1}"
        assert found(odd(completions=refusing("min_p", message=message))).refused == ("min_p",)

    def test_several_are_found(self, odd):
        server = odd(completions=refusing("top_k", "min_p", "ignore_eos", message="Unrecognized: top_k"))
        assert found(server).refused == ("top_k", "ignore_eos", "min_p")
        assert not {"top_k", "min_p", "ignore_eos"} & server.bodies[-1].keys()
        assert "return_token_ids" in server.bodies[-1]

    def test_all_may_be_refused(self, odd):
        assert found(odd(completions=refusing(*OPTIONAL))).refused == SENT

    def test_the_exchanges_tell_what_was_refused(self, odd):
        server = odd(completions=refusing("top_k", message="no top_k here"))
        exchanges = probe(server.address).exchanges
        answered = f"{server.address}/completions answered 400: no top_k here."
        assert exchanges[2] == f"POST /completions: {answered}"
        assert f"POST /completions with top_k: {answered}" in exchanges
        assert "POST /completions with min_p: 1 choices, first tokens (1, 2)" in exchanges

    def test_a_server_that_refuses_everything_cannot_be_tested(self, odd):
        error = not_tested(odd(completions=JSONResponse(recorded("vllm_error_400"), 400)).address)
        assert "answered 400: The min_p and logit_bias sampling parameters" in error.message

    def test_a_request_that_needs_a_refused_filter_fails(self, odd):
        async def use():
            engine = opened(odd(completions=refusing("top_k")).address)
            await engine.probe()
            await engine.complete(a_request())
            try:
                await engine.complete(a_request(sampling=Sampling(top_k=4)))
            finally:
                await engine.close()

        with pytest.raises(Exception, match="refuses top_k, which this request needs") as caught:
            asyncio.run(use())
        assert (caught.value.failure.status, caught.value.failure.lost) == (400, False)

    def test_the_key_in_a_refusal_is_not_in_the_exchanges(self, odd):
        server = odd(completions=refusing("top_k", message=f"Bearer {KEY} may not use top_k"))
        assert "secret" not in repr(probe(server.address, key=KEY))


class TestBusyServers:
    @pytest.mark.parametrize("status", [429, 503])
    def test_asking_again_finds_what_a_busy_moment_hid(self, odd, status):
        def now_and_then(body):
            now_and_then.asked += 1
            return text("", status) if now_and_then.asked % 2 else JSONResponse(completion(body))

        now_and_then.asked = 0
        capabilities = found(odd(completions=now_and_then))
        assert (capabilities.max_choices, capabilities.logprobs, capabilities.token_prompts) == (64, 20, True)

    def test_one_that_stays_busy_is_not_called_incapable(self, odd):
        def reply(body):
            return text("", 429) if body.get("n", 1) > 1 else JSONResponse(completion(body))

        assert "answered 429" in not_tested(odd(completions=reply).address).message

    def test_a_busy_server_has_generated_nothing(self, odd):
        assert not failure(odd(completions=text("", 429)).address).lost


class TestChoices:
    @pytest.mark.parametrize(("cap", "seen"), [(1, 1), (3, 3), (16, 16), (64, 64), (500, 64)])
    def test_a_cap_that_nobody_tells_is_found(self, odd, cap, seen):
        def reply(body):
            return JSONResponse(
                completion({**body, "n": cap if body.get("n", 1) == 64 else min(cap, body.get("n", 1))})
            )

        assert found(odd(completions=reply)).max_choices == seen

    @pytest.mark.parametrize("status", [400, 500])
    def test_a_cap_that_is_told_is_found(self, odd, status):
        def reply(body):
            return text("", status) if body.get("n", 1) > 10 else JSONResponse(completion(body))

        assert found(odd(completions=reply)).max_choices == 8

    def test_a_server_that_garbles_many_choices_is_asked_for_fewer(self, odd):
        def reply(body):
            return text("{") if body.get("n", 1) > 4 else JSONResponse(completion(body))

        assert found(odd(completions=reply)).max_choices == 4


def with_choice(change):
    """Completions whose every choice is changed."""

    def reply(body):
        answer = completion(body)
        for choice in answer["choices"]:
            change(choice, body)
        return JSONResponse(answer)

    return reply


class TestTokens:
    def test_ids_that_only_logprobs_tell_are_always_asked_for(self, odd):
        def change(choice, body):
            del choice["token_ids"]

        server = odd(completions=with_choice(change))

        async def use():
            engine = opened(server.address)
            capabilities = (await engine.probe()).capabilities
            answer = await engine.complete(a_request())
            await engine.close()
            return capabilities, answer

        capabilities, answer = asyncio.run(use())
        assert capabilities.tokens == "ids"
        assert capabilities.token_prompts
        assert answer.completions[0].tokens == (1, 2)
        assert server.bodies[-1]["logprobs"] == 1

    def test_strings_are_no_ids(self, odd):
        def change(choice, body):
            del choice["token_ids"]
            if choice["logprobs"]:
                choice["logprobs"]["tokens"] = ["a", "b"]

        capabilities = found(odd(completions=with_choice(change)))
        assert capabilities.tokens != "ids"
        assert not capabilities.token_prompts
        assert capabilities.logprobs == 20

    def test_text_alone_is_divided_into_characters(self, odd):
        def change(choice, body):
            del choice["token_ids"]
            choice["logprobs"] = None

        capabilities = found(odd(completions=with_choice(change)))
        assert (capabilities.tokens, capabilities.logprobs, capabilities.logprobs_mode) == (
            "retokenized",
            0,
            "unknown",
        )

    @pytest.mark.parametrize("kind", ["refused", "batch", "changed"])
    def test_prompts_of_ids_must_be_understood(self, odd, kind):
        def reply(body):
            ids = isinstance(body["prompt"], list)
            if ids and kind == "refused":
                return text("", 400)
            answer = completion({**body, "n": 2} if ids and kind == "batch" else body)
            if ids and kind == "changed":
                answer["choices"][0]["prompt_token_ids"] = [*b"[1,2]"]
            return JSONResponse(answer)

        assert not found(odd(completions=reply)).token_prompts


class TestLogprobs:
    def test_a_lower_limit_is_found(self, odd):
        def reply(body):
            return text("at most 5 logprobs", 400) if body.get("logprobs", 0) > 5 else JSONResponse(completion(body))

        assert found(odd(completions=reply)).logprobs == 5

    def test_a_silent_limit_is_found(self, odd):
        server = odd(
            completions=lambda body: JSONResponse(completion({**body, "logprobs": min(3, body.get("logprobs", 0))}))
        )
        assert found(server).logprobs == 3

    def test_the_emitted_token_beside_the_likely_ones_does_not_count(self, odd):
        def change(choice, body):
            if choice["logprobs"]:
                for top in choice["logprobs"]["top_logprobs"]:
                    top["token_id:99"] = -30.0

        assert found(odd(completions=with_choice(change))).logprobs == 20

    def test_none_where_they_are_refused(self, odd):
        assert found(odd(completions=refusing("logprobs"))).logprobs == 0

    @pytest.mark.parametrize(("stretch", "mode"), [(1, "raw"), (2, "processed"), (1.5, "unknown"), (0, "unknown")])
    def test_the_mode_shows_in_the_distances(self, odd, stretch, mode):
        def change(choice, body):
            if choice["logprobs"]:
                factor = stretch if body["temperature"] == 0.5 else 1
                noise = 0.02 if body["temperature"] == 0.5 else 0.0
                choice["logprobs"]["top_logprobs"] = [
                    {f"token_id:{i}": -0.3 - factor * i * 0.4 + noise * (-1) ** i for i in range(20)}
                ] * 2

        assert found(odd(completions=with_choice(change))).logprobs_mode == mode

    @pytest.mark.parametrize("tops", [{}, {"token_id:1": -1.0}, {"token_id:1": -1.0, "token_id:2": -1.0}])
    def test_the_mode_of_too_little_is_not_known(self, odd, tops):
        def change(choice, body):
            if choice["logprobs"]:
                choice["logprobs"]["top_logprobs"] = [tops] * 2

        assert found(odd(completions=with_choice(change))).logprobs_mode == "unknown"

    def test_the_mode_is_not_known_where_temperature_is_refused(self, odd):
        def reply(body):
            return text("", 400) if body["temperature"] == 0.5 else JSONResponse(completion(body))

        assert found(odd(completions=reply)).logprobs_mode == "unknown"


def drawn(body, *, chance=0):
    """An honest answer whose later tokens depend on the seed and on whatever else is given."""
    return completion({**body, "seed": body.get("seed", 0) + chance})


class TestCaches:
    @pytest.mark.parametrize(("key", "repeats"), [((), "always"), (("user",), "bypassed"), (("seed",), "never")])
    def test_answers_that_are_repeated_are_noticed(self, odd, key, repeats):
        def reply(body):
            seen = {name: body.get(name) for name in key}
            return JSONResponse(completion({**body, "seed": sum(map(ord, repr(seen)))}))

        server = odd(completions=reply)
        assert found(server).repeats == repeats
        assert ("user" in server.bodies[-1]) == (repeats == "bypassed")

    def test_every_probe_names_other_users(self, odd):
        def reply(body):
            return JSONResponse(completion({**body, "seed": sum(map(ord, body.get("user", "")))}))

        server = odd(completions=reply)
        users = []
        for _ in range(2):
            assert found(server).repeats == "bypassed"
            users.append({body["user"] for body in server.bodies if "user" in body})
            server.bodies.clear()
        assert not users[0] & users[1]

    def test_a_server_that_says_nothing_is_not_said_to_repeat_itself(self, odd):
        silent = {"choices": [{"text": "", "finish_reason": "length"}]}
        assert found(odd(completions=JSONResponse(silent))).repeats == "never"

    def test_a_favourite_answer_is_no_cache(self, odd):
        def reply(body):
            return JSONResponse(completion({**body, "seed": 1 if body.get("seed", 0) < 2_000_000 else 5}))

        assert found(odd(completions=reply)).repeats == "never"


class TestTemperature:
    def test_one_that_may_be_set(self, odd):
        assert found(odd()).temperature == "any"

    def test_one_that_is_refused_but_for_the_default(self, odd):
        def reply(body):
            if body.get("temperature", 1) != 1:
                return JSONResponse({"error": {"message": "Only the default (1) value is supported."}}, 400)
            return JSONResponse(completion(body))

        server = odd(completions=reply)
        assert found(server).temperature == "one"
        assert found(server).refused == ()

    def test_one_that_is_refused(self, odd):
        capabilities = found(odd(completions=refusing("temperature")))
        assert (capabilities.temperature, capabilities.refused) == ("default", ("temperature",))

    def test_one_that_is_ignored(self, odd):
        assert (
            found(odd(completions=lambda body: JSONResponse(drawn({**body, "temperature": 1})))).temperature
            == "ignored"
        )

    def test_a_verifier_that_accepts_by_chance_is_not_taken_for_a_server_that_ignores_temperatures(self, odd):
        """First tokens, which are never drafted, are as asked; whatever comes behind is not."""

        def reply(body):
            answer = completion({**body, "temperature": 1})
            first = 1 if body.get("temperature") == 0 else body["seed"] % 89
            answer["choices"][0]["token_ids"][0] = first
            return JSONResponse(answer)

        assert found(odd(completions=reply)).temperature == "any"

    def test_a_near_tie_is_not_taken_for_chance(self, odd):
        """At temperature 0 a batched server may answer in one of two ways."""

        def reply(body):
            if body.get("temperature") == 0:
                return JSONResponse(completion({**body, "temperature": 1, "seed": body["seed"] // 2_000_000}))
            return JSONResponse(completion(body))

        assert found(odd(completions=reply)).temperature == "any"


def told(**usage):
    """Completions that bill so much."""

    def reply(body):
        return JSONResponse({**completion(body), "usage": usage})

    return reply


class TestPrompts:
    def test_tokens_are_counted_as_billed(self, odd):
        assert found(odd(completions=told(prompt_tokens=11))).prompt_tokens == (11, 11)

    def test_nothing_is_said_where_nothing_is_billed(self, odd):
        assert found(odd()).prompt_tokens == ()


def talking(message, **choice):
    """Conversations that are all answered by one message, without tokens."""

    def reply(body):
        choices = [{"message": message, "finish_reason": "stop", **choice}] * body.get("n", 1)
        return JSONResponse({"choices": choices, "usage": {"completion_tokens": 9, **choice.get("usage", {})}})

    return reply


class TestChat:
    def chat(self, server, **options):
        return probe(server.address, api="chat", **options).capabilities

    def test_a_conversation_is_probed_at_its_own_address(self, odd):
        server = odd(completions=talking({"content": "hello"}))
        capabilities = self.chat(server)
        assert (capabilities.tokens, capabilities.token_prompts) == ("retokenized", False)
        assert {body["messages"][0]["role"] for body in server.bodies} == {"user"}

    def test_the_other_name_of_the_cap_is_found(self, odd):
        server = odd(completions=refusing("max_tokens"))
        assert found(server).refused == ()
        assert "max_completion_tokens" in server.bodies[-1]

    @pytest.mark.parametrize(
        ("message", "usage", "kind", "divided"),
        [
            ({"content": "a"}, {}, "none", True),
            ({"content": "a", "reasoning_content": ""}, {}, "none", True),
            # Characters are divided where the two texts are; without an answer there is nothing to divide.
            ({"content": "a", "reasoning_content": "b"}, {}, "shown", True),
            ({"content": None, "reasoning": "b"}, {}, "shown", False),
            ({"content": "a"}, {"completion_tokens_details": {"reasoning_tokens": 64}}, "hidden", False),
            ({"content": "a"}, {"completion_tokens_details": {"reasoning_tokens": 0}}, "none", True),
        ],
    )
    def test_reasoning_is_found(self, odd, message, usage, kind, divided):
        def reply(body):
            return JSONResponse({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})

        capabilities = self.chat(odd(completions=reply))
        assert capabilities.reasoning == kind
        assert capabilities.segments == divided

    def test_a_tokenizer_stands_in_for_untold_tokens(self, odd, vocabulary):
        server = odd(completions=talking({"content": "ab", "reasoning_content": "ba"}))
        capabilities = self.chat(server, tokenizer=vocabulary)
        assert (capabilities.tokens, capabilities.tokenizer) == ("retokenized", vocabulary.digest)
        assert capabilities.segments

    def test_a_tokenizer_finds_where_reasoning_ends(self, odd, vocabulary):
        server = odd(completions=talking({"content": "ab", "reasoning_content": "ba"}, token_ids=[1, 0, 7, 0, 1]))
        capabilities = self.chat(server, tokenizer=vocabulary)
        assert (capabilities.tokens, capabilities.segments) == ("ids", True)
        assert not self.chat(server).segments

    def test_a_tokenizer_that_is_not_the_engines_finds_nothing(self, odd, vocabulary):
        server = odd(completions=talking({"content": "ab", "reasoning_content": "ba"}, token_ids=[5, 6, 7, 8]))
        assert not self.chat(server, tokenizer=vocabulary).segments


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.json"
    path.write_text('{"a": 0, "b": 1}')
    return load_tokenizer(path)


class TestOptionsThatHelp:
    """A server that answers nothing, but would in another manner: the hint names the option."""

    def test_a_stream(self, odd):
        def reply(body):
            if not body["stream"]:
                return JSONResponse({"error": {"message": "Set stream to true."}}, 400)
            return text('data: {"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}\n\n', 200)

        error = not_tested(odd(completions=streamed(reply)).address)
        assert error.message.endswith("answered 400: Set stream to true.")
        assert error.hint.endswith(" --stream")

    @pytest.mark.parametrize(("api", "other"), [("completions", "chat"), ("chat", "completions")])
    def test_the_other_interface(self, odd, api, other):
        def reply(body):
            asked = "chat" if "messages" in body else "completions"
            return text("", 404) if asked == api else JSONResponse(completion(body))

        error = not_tested(odd(completions=reply).address, api=api)
        assert "answered 404" in error.message
        assert error.hint.endswith(f" --api {other}")


def streamed(reply):
    """The same replies, those that begin with data as streams."""

    def with_type(body):
        answer = reply(body)
        if answer.body.startswith(b"data: "):
            answer.headers["content-type"] = "text/event-stream"
        return answer

    return with_type


class TestScores:
    def test_logprobs_of_prompts_are_noticed(self, odd):
        def reply(body):
            answer = completion(body)
            if "prompt_logprobs" in body:
                top = {str(token): {"logprob": -1.0 - token} for token in range(body["prompt_logprobs"])}
                answer["choices"][0] |= {"prompt_token_ids": [3, 1], "prompt_logprobs": [None, top]}
            return JSONResponse(answer)

        assert found(odd(completions=reply)).scores_prompts
        assert not found(odd()).scores_prompts
