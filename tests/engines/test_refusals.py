import json

import pytest

from specaudit.engines.refusals import words
from tests.engines.serving import recorded

SAID = "temperature must be 1"


@pytest.mark.parametrize(
    "body",
    [
        {"error": SAID},
        {"error": {"message": SAID, "type": "invalid_request_error", "param": "temperature", "code": None}},
        {"object": "error", "message": SAID, "type": "BadRequestError", "code": 400},
        {"detail": SAID},
        {"detail": [{"type": "value_error", "msg": SAID}]},
        {"errors": [{"code": 7003, "message": SAID}], "success": False},
        [{"error": {"code": 400, "message": SAID, "status": "INVALID_ARGUMENT"}}],
        {"type": "error", "error": {"type": "invalid_request_error", "message": SAID}},
        {"error": {"message": {"detail": SAID}}},
        {"fault": {"faultstring": SAID}},
        {"title": "", "detail": SAID, "status": 400},
    ],
)
def test_the_servers_words_are_found_in_every_form(body):
    assert words(json.dumps(body), "Bad Request") == SAID


def test_places_of_faults_are_named():
    faults = [{"loc": ["body", "messages", 0, "role"], "msg": "Field required"}, {"loc": ["body"], "msg": "Extra"}]
    assert words(json.dumps({"detail": faults}), "") == "body.messages.0.role: Field required; body: Extra"


def test_of_many_faults_some_are_shown():
    assert words(json.dumps({"detail": [{"msg": str(i)} for i in range(100)]}), "") == "0; 1; 2"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "vllm_error_400",
            "The min_p and logit_bias sampling parameters are not yet supported with speculative decoding.",
        ),
        ("vllm_error_404", "The model `nope` does not exist. Valid aliases: target."),
        ("llamacpp_error_500", "_Map_base::at"),
        ("sglang_error_400", "top_p must be in (0, 1], got 0.0."),
        ("tgi_error_422", "Input validation error: `top_p` must be > 0.0 and < 1.0"),
        ("tensorrt_llm_error_400", "body.return_token_ids: Extra inputs are not permitted"),
    ],
)
def test_recorded_refusals(name, said):
    assert words(json.dumps(recorded(name)), "") == said


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (
            "2 validation errors:\n  {'type': 'missing', 'loc': ('body', 'messages', 0), 'msg': 'Field required', "
            "'input': {'a': (1,)}}\n  {'type': 'value_error', 'loc': ('body',), 'msg': \"Value error, it's 'n'\", "
            "'ctx': {'error': ValueError('n')}}",
            "body.messages.0: Field required; body: Value error, it's 'n'",
        ),
        (r"[{'loc': ('body', 'x'), 'msg': 'a \'b\' \\ c'}]", r"body.x: a 'b' \ c"),
        ("no 'loc': (", "no 'loc': ("),
        ("{'loc': (), 'msg': 'all of it'}", ": all of it"),
    ],
)
def test_faults_that_python_printed_are_told_as_sentences(printed, said):
    assert words(json.dumps({"message": printed, "code": 400}), "") == said


@pytest.mark.parametrize("body", ['{"code": 7}', "{}", "[]", "null", "7", "not JSON", "[" * 100_000])
def test_a_body_without_words_is_shown_as_it_is(body):
    assert words(body, "Bad Request") == body


def test_an_empty_body_leaves_the_status():
    assert words("", "Bad Request") == "Bad Request"
