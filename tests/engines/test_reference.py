import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.counters.read import read_page
from specaudit.decoding.accounting import Accounting
from specaudit.decoding.decoder import SpeculativeDecoder
from specaudit.decoding.models.markov import MarkovModel
from specaudit.decoding.processors import SamplingParameters
from specaudit.decoding.worlds import MARKOV4, SmallModel, World
from specaudit.engines.interface import Access, EngineFailure, Scraper
from specaudit.engines.reference import MAX_CHOICES, ReferenceEngine, build
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm
from specaudit.model.record import from_json, to_json
from specaudit.model.request import GREEDY, Request, Sampling

UNIFORM = MarkovModel([0.25] * 4, [[0.25] * 4] * 4)
# A target that never gives token 3, and in which token 0 is certain after token 2.
SPARSE = MarkovModel([0.5, 0.5, 0, 0], [[0.2, 0.4, 0.4, 0], [0.3, 0.3, 0.4, 0], [1, 0, 0, 0], [0.5, 0.5, 0, 0]])


def engine(world=MARKOV4, draft_tokens=3):
    return ReferenceEngine(SpeculativeDecoder(world, draft_tokens=draft_tokens))


def ask(subject=None, **changes):
    request = Request(**{"prompt": (0, 1), "sampling": Sampling(), "seed": 7, "max_tokens": 6, **changes})
    return asyncio.run((subject or engine()).complete(request))


def tokens(*args, **changes):
    return [completion.tokens for completion in ask(*args, **changes).completions]


class TestLaw:
    # Upper 0.1 % points of chi-square; seeds are fixed.
    @pytest.mark.parametrize("draft_tokens", [0, 3])
    @pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=0.7, top_k=3, top_p=0.95)])
    def test_completions_have_the_worlds_law(self, draft_tokens, sampling):
        subject = engine(draft_tokens=draft_tokens)
        words = np.concatenate(
            [
                tokens(subject, prompt="c", sampling=sampling, n=MAX_CHOICES, seed=1000 * i, max_tokens=3)
                for i in range(40)
            ]
        )
        parameters = SamplingParameters(temperature=sampling.temperature, top_k=sampling.top_k, top_p=sampling.top_p)
        rows = MARKOV4.target.probabilities(np.arange(4), parameters)
        law = rows[2][:, None, None] * rows[:, :, None] * rows[None, :, :]
        counts = np.zeros((4, 4, 4))
        np.add.at(counts, tuple(words.T), 1)
        possible = law > 0
        assert counts[~possible].sum() == 0
        expected = len(words) * law[possible]
        assert ((counts[possible] - expected) ** 2 / expected).sum() < {64: 103.4, 22: 46.8}[possible.sum()]

    def test_the_law_is_revealed_whole_and_raw(self):
        law = engine(SPARSE_WORLD).law()
        assert law.order == 1
        assert law.contexts == ((), (0,), (1,), (2,), (3,))
        assert law.logprobs[0] == (np.log(0.5), np.log(0.5), None, None)
        assert law.logprobs[3] == (0.0, None, None, None)
        assert law.eos is None
        assert from_json(to_json(law), type(law)) == law

    def test_the_eos_is_revealed(self):
        assert engine(World(name="e", target=UNIFORM, drafter=SmallModel(model=UNIFORM), eos=2)).law().eos == 2


SPARSE_WORLD = World(name="sparse", target=SPARSE, drafter=SmallModel(model=UNIFORM))


class TestSeeds:
    @settings(max_examples=40)
    @given(n=st.integers(1, 12), seed=st.integers(-(2**70), 2**70))
    def test_choice_i_is_drawn_with_seed_plus_i(self, n, seed):
        subject = engine()
        assert tokens(subject, n=n, seed=seed) == [tokens(subject, seed=seed + i)[0] for i in range(n)]

    def test_neither_earlier_requests_nor_neighbours_matter(self):
        subject = engine()
        first = tokens(subject, n=2)
        tokens(subject, n=5, seed=99, prompt="abc")
        assert tokens(subject, n=2) == first

    def test_other_seeds_give_other_tokens(self):
        assert len(set(tokens(n=200, max_tokens=20))) > 190


def drawn(response):
    """What was drawn and reported of it; by which path a token came depends on what else is in the batch."""
    return [(one.tokens, one.finish_reason, one.logprobs) for one in response.completions]


class TestAtOnce:
    """Requests that are asked for at the same time run in one batch."""

    def both(self, subject, *requests):
        async def asked():
            return await asyncio.gather(*(subject.complete(request) for request in requests), return_exceptions=True)

        return asyncio.run(asked())

    def test_they_answer_as_each_alone(self):
        requests = [
            Request(prompt=(0, 1), sampling=Sampling(), seed=1, n=5, max_tokens=30),
            Request(prompt="d", sampling=GREEDY, seed=2, n=2, max_tokens=3),
            Request(prompt=(), sampling=Sampling(top_k=2, presence_penalty=1.0), seed=3, n=3, max_tokens=9, logprobs=2),
        ]
        answers = self.both(engine(), *requests)
        for answer, request in zip(answers, requests, strict=True):
            assert drawn(answer) == drawn(asyncio.run(engine().complete(request)))

    def test_they_do_run_in_one_batch(self):
        class Watching(Accounting):
            rows = 0

            def record(self, step):
                super().record(step)
                Watching.rows = max(Watching.rows, len(step.emitted))

        subject = ReferenceEngine(SpeculativeDecoder(MARKOV4, accounting=Watching))
        self.both(subject, *(Request(prompt=(), sampling=Sampling(), seed=i, n=4, max_tokens=9) for i in range(3)))
        assert Watching.rows == 12

    def test_one_that_breaks_off_does_not_harm_the_other(self):
        corner = Sampling(allowed_token_ids=(0, 1), bad_words=((0, 0), ("a", "b")))
        broken, fine = self.both(
            engine(),
            Request(prompt=(1,), sampling=corner, seed=3, max_tokens=30),
            Request(prompt=(1,), sampling=Sampling(), seed=3, max_tokens=30),
        )
        assert isinstance(broken, EngineFailure)
        assert "leave none" in broken.failure.message
        assert drawn(fine) == drawn(ask(prompt=(1,), seed=3, max_tokens=30))

    def test_whoever_is_cancelled_stops_being_decoded(self):
        subject = engine()

        async def cancelled():
            task = asyncio.ensure_future(
                subject.complete(Request(prompt=(), sampling=Sampling(), seed=1, max_tokens=99))
            )
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        asyncio.run(cancelled())
        assert 'vllm:num_requests_running{engine="0",model_name="markov4"} 0.0' in asyncio.run(subject.scrape()).text
        assert read(subject).generation_tokens < 20
        assert read(subject).requests_finished == 0


class TestParameters:
    @pytest.mark.parametrize(
        "changed",
        [
            {"min_p": 0.3},
            {"repetition_penalty": 3.0},
            {"presence_penalty": 2.0},
            {"frequency_penalty": 2.0},
            {"logit_bias": ((2, 4.0),)},
            {"bad_words": ((1,),)},
            {"allowed_token_ids": (0, 2)},
        ],
    )
    def test_every_one_reaches_the_decoder(self, changed):
        assert tokens(n=20, sampling=Sampling(**changed)) != tokens(n=20)


class TestPrompts:
    def test_text_is_read_letter_by_letter(self):
        answer = ask(prompt="abcd")
        assert answer.prompt_token_ids == (0, 1, 2, 3)
        assert answer.completions == ask(prompt=(0, 1, 2, 3)).completions

    @given(st.text(max_size=8))
    def test_any_text_has_tokens(self, text):
        answer = ask(prompt=text, max_tokens=1)
        assert len(answer.prompt_token_ids) == answer.prompt_tokens == len(text)
        assert all(0 <= token < 4 for token in answer.prompt_token_ids)

    def test_a_prompt_may_be_empty(self):
        assert ask(prompt=()).prompt_token_ids == ask(prompt="").prompt_token_ids == ()
        starts = np.bincount([word[0] for word in tokens(prompt=(), n=256)], minlength=4) / 256
        assert np.abs(starts - [0.16, 0.23, 0.46, 0.15]).max() < 0.1


class TestStops:
    def test_a_stop_token_is_the_last(self):
        for completion in ask(n=50, max_tokens=30, stop_token_ids=(3,)).completions:
            assert completion.finish_reason == ("stop" if 3 in completion.tokens else "length")
            assert 3 not in completion.tokens[:-1]

    def test_a_stop_string_is_found_in_letters_and_told_as_text(self):
        for completion in ask(n=50, max_tokens=30, stop=("da", "bb")).completions:
            told = completion.text
            assert told == "".join("abcd"[token] for token in completion.tokens)
            assert told.endswith(("da", "bb")) == (completion.finish_reason == "stop")
            assert not any(word in told[:-1] for word in ("da", "bb"))

    def test_before_min_tokens_nothing_stops(self):
        answered = ask(n=50, max_tokens=30, stop_token_ids=(2,), min_tokens=5).completions
        assert {c.finish_reason for c in answered} == {"stop"}
        assert min(len(c.tokens) for c in answered) == 6
        assert all(2 not in c.tokens[:-1] for c in answered)

    def test_without_one_the_cap_is_reached(self):
        answer = ask(n=5)
        assert {(len(c.tokens), c.finish_reason) for c in answer.completions} == {(6, "length")}
        assert answer.completion_tokens == 30

    def test_the_eos_is_a_token_like_any_other_when_it_is_ignored(self):
        world = World(name="e", target=UNIFORM, drafter=SmallModel(model=UNIFORM), eos=2)
        ignoring = ask(engine(world), n=50).completions
        heeding = ask(engine(world), n=50, ignore_eos=False).completions
        assert {len(c.tokens) for c in ignoring} == {6}
        assert {c.finish_reason for c in heeding} == {"stop", "length"}
        assert all((c.tokens[-1] == 2) == (c.finish_reason == "stop") for c in heeding if len(c.tokens) < 6)


class TestLogprobs:
    def test_none_unless_asked_for(self):
        assert {completion.logprobs for completion in ask(n=3).completions} == {None}

    @pytest.mark.parametrize("count", [0, 1, 3, 4, 20])
    def test_they_are_the_log_of_the_worlds_rows(self, count):
        # Sampling filters do not move them.
        answer = ask(n=4, logprobs=count, sampling=Sampling(temperature=0.5, top_k=2))
        for completion in answer.completions:
            context = 1
            for token, position in zip(completion.tokens, completion.logprobs, strict=True):
                row = np.log(MARKOV4.target.probabilities(np.array(context), SamplingParameters()))
                assert position.token == token
                assert position.logprob == pytest.approx(row[token])
                assert [word for word, _ in position.top] == np.argsort(-row)[:count].tolist()
                assert [value for _, value in position.top] == pytest.approx(np.sort(row)[::-1][:count])
                context = token

    def test_the_first_after_an_empty_prompt_has_the_start_law(self):
        (completion,) = ask(prompt=(), logprobs=1).completions
        assert completion.logprobs[0].top == ((2, pytest.approx(np.log(0.46))),)

    def test_the_impossible_is_left_out(self):
        (completion,) = ask(engine(SPARSE_WORLD), prompt=(2,), logprobs=4, max_tokens=1).completions
        assert completion.logprobs[0].top == ((0, 0.0),)

    def test_an_impossible_token_has_no_logprob(self):
        """As a faulty decoder may emit one; minus infinity would not come back from JSON."""

        class Faulty(SpeculativeDecoder):
            def verify(self, block, drafts, p, coins):
                verified = super().verify(block, drafts, p, coins)
                verified.out[:] = 3
                return verified

        answer = ask(ReferenceEngine(Faulty(SPARSE_WORLD)), logprobs=1, max_tokens=2)
        assert [position.logprob for position in answer.completions[0].logprobs] == [None, None]
        assert from_json(to_json(answer), type(answer)) == answer

    def test_positions_end_with_the_completion(self):
        for completion in ask(n=50, max_tokens=30, stop_token_ids=(3,), logprobs=1).completions:
            assert len(completion.logprobs) == len(completion.tokens)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": (0, 4)}, "token 4 is not one of 4"),
        ({"prompt": (4, 0)}, "token 4 is not one of 4"),
        ({"prompt": (-1,)}, "token -1 is not one of 4"),
        ({"prompt": (1 << 70,)}, "is not one of 4"),
        ({"stop_token_ids": (9,)}, "token 9 is not one of 4"),
        ({"stop_token_ids": (1 << 70,)}, "is not one of 4"),
        ({"max_tokens": 0}, "max_tokens must be at least 1"),
        ({"n": 0}, "n must be between 1 and 256, got 0"),
        ({"n": -1}, "n must be between 1 and 256, got -1"),
        ({"n": 257}, "n must be between 1 and 256, got 257"),
        ({"sampling": Sampling(temperature=-1.0)}, "temperature"),
        ({"sampling": Sampling(temperature=float("nan"))}, "temperature"),
        ({"sampling": Sampling(top_p=0.0)}, "top_p"),
        ({"sampling": Sampling(top_k=-2)}, "top_k"),
    ],
)
def test_a_bad_request_is_refused_before_anything_is_counted(changes, said):
    subject = engine()
    before = subject.decoder.counters
    with pytest.raises(EngineFailure, match=said) as caught:
        ask(subject, **changes)
    failure = caught.value.failure
    assert (failure.reason, failure.status, failure.lost) == ("status", 400, False)
    assert subject.decoder.counters == before


class TestCounters:
    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 9), st.booleans()), max_size=6))
    def test_the_page_moves_by_what_is_emitted(self, requests):
        subject = engine()
        emitted = finished = 0
        for seed, (n, max_tokens, stops) in enumerate(requests):
            answer = ask(subject, n=n, max_tokens=max_tokens, seed=100 * seed, stop_token_ids=(0,) if stops else ())
            emitted += answer.completion_tokens
            finished += n
        reading = read(subject)
        assert (reading.generation_tokens, reading.requests_finished) == (emitted, finished)
        assert (reading.drafts, reading.draft_tokens, reading.accepted) == (
            subject.decoder.counters.drafts,
            subject.decoder.counters.draft_tokens,
            subject.decoder.counters.accepted,
        )
        assert reading.accepted_per_position == subject.decoder.counters.accepted_per_position

    def test_two_engines_have_pages_of_their_own(self):
        used, unused = engine(), engine()
        ask(used)
        assert (read(used).generation_tokens, read(unused).generation_tokens) == (6, 0)

    def test_it_is_a_scraper(self):
        assert isinstance(engine(), Scraper)


def read(subject):
    page = asyncio.run(subject.scrape())
    (reading,) = read_page(page.text, page.content_type)
    return reading


class TestBuild:
    @pytest.mark.parametrize(("given", "drafts"), [(None, 0), (0, 0), (5, 5)])
    def test_an_arm_says_how_many_drafts(self, given, drafts):
        subject = build(Arm(role="subject", engine="reference", draft_tokens=given), Access())
        capabilities = asyncio.run(subject.probe()).capabilities
        assert capabilities.draft_tokens == drafts
        assert (capabilities.engine, capabilities.model, capabilities.vocabulary_size) == ("reference", "markov4", 4)
        assert (capabilities.max_choices, capabilities.logprobs, capabilities.logprobs_mode) == (MAX_CHOICES, 4, "raw")

    def test_there_are_no_variants(self):
        with pytest.raises(UsageError, match="no engine named 'reference:fast'"):
            build(Arm(role="subject", engine="reference:fast"), Access())

    @pytest.mark.parametrize(("asked", "drafts"), [(None, 3), (0, 0), (1, 1), (7, 3)])
    def test_a_request_may_ask_for_fewer_drafts(self, asked, drafts):
        subject = engine()
        longer = ask(subject, sampling=GREEDY, max_tokens=40, draft_tokens=asked)
        counters = subject.decoder.counters
        assert counters.draft_tokens <= drafts * counters.drafts
        assert longer.completions[0].tokens == tokens(engine(draft_tokens=0), sampling=GREEDY, max_tokens=40)[0]
        assert (counters.drafts > 0) == (drafts > 0)

    def test_a_name_of_its_own_is_on_the_page(self):
        subject = ReferenceEngine(SpeculativeDecoder(MARKOV4), model_name="mine")
        assert 'model_name="mine"' in asyncio.run(subject.scrape()).text

    def test_greedy_is_the_same_with_and_without_drafts(self):
        plain, speculating = (tokens(engine(draft_tokens=k), sampling=GREEDY, max_tokens=40) for k in (0, 4))
        assert plain == speculating
