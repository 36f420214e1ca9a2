import pytest

from specaudit.serve.cache import AnswerCache

BODY = {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 4, "n": 1, "seed": 1}
ANSWER = {"id": "1", "choices": [{"text": "b"}], "usage": {"prompt_tokens": 3}}
CACHED = {
    "id": "1",
    "choices": [{"text": "b"}],
    "usage": {**ANSWER["usage"], "prompt_tokens_details": {"cached_tokens": 3}},
}


@pytest.fixture(params=["body", "prompt"])
def cache(request):
    cache = AnswerCache(request.param)
    cache.keep(BODY, ANSWER)
    return cache


@pytest.mark.parametrize("changes", [{}, {"seed": 2}, {"stream": True, "stream_options": {"include_usage": True}}])
def test_what_says_the_same_is_answered_again(cache, changes):
    assert cache.find({**BODY, **changes}) == CACHED
    assert cache.find(dict(reversed(BODY.items()))) == CACHED


@pytest.mark.parametrize("changes", [{"messages": []}, {"n": 2}, {"max_tokens": 5}])
def test_what_says_something_else_is_not(cache, changes):
    assert cache.find({**BODY, **changes}) is None


@pytest.mark.parametrize("changes", [{"user": "someone"}, {"temperature": 0.5}])
def test_the_prompt_alone_counts_where_it_is_the_key(changes):
    found = []
    for key in ("body", "prompt"):
        cache = AnswerCache(key)
        cache.keep(BODY, ANSWER)
        found.append(cache.find({**BODY, **changes}))
    assert found == [None, CACHED]


def test_what_was_sent_is_not_changed(cache):
    cache.find(BODY)["choices"].clear()
    assert cache.find(BODY) == CACHED
    assert "prompt_tokens_details" not in ANSWER["usage"]
