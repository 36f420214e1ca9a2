from prometheus_client.parser import text_string_to_metric_families

from specaudit.decoding.accounting import Counters
from specaudit.decoding.exporter import Exporter

COUNTERS = Counters(
    accepted_per_position=(5, 2),
    drafts=9,
    draft_tokens=18,
    accepted=7,
    undrafted=4,
    trimmed=1,
    generation_tokens=19,
    prompt_tokens=12,
    requests_stopped=1,
    requests_at_length=3,
    requests_failed=2,
    computed_tokens=41,
    replayed_tokens=6,
    wasted_tokens=5,
)

PAGE = """\
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1795958769.97
# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="markov4"} 9.0
# HELP vllm:spec_decode_num_drafts_created Number of spec decoding drafts.
# TYPE vllm:spec_decode_num_drafts_created gauge
vllm:spec_decode_num_drafts_created{engine="0",model_name="markov4"} 1795958842.5
# HELP vllm:spec_decode_num_draft_tokens_total Number of draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_total counter
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="markov4"} 18.0
# HELP vllm:spec_decode_num_draft_tokens_created Number of draft tokens.
# TYPE vllm:spec_decode_num_draft_tokens_created gauge
vllm:spec_decode_num_draft_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP vllm:spec_decode_num_accepted_tokens_total Number of accepted tokens.
# TYPE vllm:spec_decode_num_accepted_tokens_total counter
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="markov4"} 7.0
# HELP vllm:spec_decode_num_accepted_tokens_created Number of accepted tokens.
# TYPE vllm:spec_decode_num_accepted_tokens_created gauge
vllm:spec_decode_num_accepted_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP vllm:spec_decode_num_accepted_tokens_per_pos_total Accepted tokens per draft position.
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_total counter
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="markov4",position="0"} 5.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="markov4",position="1"} 2.0
# HELP vllm:spec_decode_num_accepted_tokens_per_pos_created Accepted tokens per draft position.
# TYPE vllm:spec_decode_num_accepted_tokens_per_pos_created gauge
vllm:spec_decode_num_accepted_tokens_per_pos_created{engine="0",model_name="markov4",position="0"} 1795958842.5
vllm:spec_decode_num_accepted_tokens_per_pos_created{engine="0",model_name="markov4",position="1"} 1795958842.5
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="markov4"} 2.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="markov4"} 1.0
# HELP vllm:engine_sleep_state Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is \
awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.
# TYPE vllm:engine_sleep_state gauge
vllm:engine_sleep_state{engine="0",model_name="markov4",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="0",model_name="markov4",sleep_state="weights_offloaded"} 0.0
vllm:engine_sleep_state{engine="0",model_name="markov4",sleep_state="discard_all"} 0.0
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="markov4"} 12.0
# HELP vllm:prompt_tokens_created Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_created gauge
vllm:prompt_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="markov4"} 19.0
# HELP vllm:generation_tokens_created Number of generation tokens processed.
# TYPE vllm:generation_tokens_created gauge
vllm:generation_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP vllm:request_success_total Count of successfully processed requests.
# TYPE vllm:request_success_total counter
vllm:request_success_total{engine="0",finished_reason="stop",model_name="markov4"} 1.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="markov4"} 3.0
vllm:request_success_total{engine="0",finished_reason="abort",model_name="markov4"} 0.0
vllm:request_success_total{engine="0",finished_reason="error",model_name="markov4"} 2.0
vllm:request_success_total{engine="0",finished_reason="repetition",model_name="markov4"} 0.0
# HELP vllm:request_success_created Count of successfully processed requests.
# TYPE vllm:request_success_created gauge
vllm:request_success_created{engine="0",finished_reason="stop",model_name="markov4"} 1795958842.5
vllm:request_success_created{engine="0",finished_reason="length",model_name="markov4"} 1795958842.5
vllm:request_success_created{engine="0",finished_reason="abort",model_name="markov4"} 1795958842.5
vllm:request_success_created{engine="0",finished_reason="error",model_name="markov4"} 1795958842.5
vllm:request_success_created{engine="0",finished_reason="repetition",model_name="markov4"} 1795958842.5
# HELP specaudit:computed_tokens_total Number of tokens that the target read.
# TYPE specaudit:computed_tokens_total counter
specaudit:computed_tokens_total{engine="0",model_name="markov4"} 41.0
# HELP specaudit:computed_tokens_created Number of tokens that the target read.
# TYPE specaudit:computed_tokens_created gauge
specaudit:computed_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP specaudit:replayed_tokens_total Number of tokens read again after a preemption.
# TYPE specaudit:replayed_tokens_total counter
specaudit:replayed_tokens_total{engine="0",model_name="markov4"} 6.0
# HELP specaudit:replayed_tokens_created Number of tokens read again after a preemption.
# TYPE specaudit:replayed_tokens_created gauge
specaudit:replayed_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP specaudit:wasted_tokens_total Number of tokens planned ahead for requests that had ended.
# TYPE specaudit:wasted_tokens_total counter
specaudit:wasted_tokens_total{engine="0",model_name="markov4"} 5.0
# HELP specaudit:wasted_tokens_created Number of tokens planned ahead for requests that had ended.
# TYPE specaudit:wasted_tokens_created gauge
specaudit:wasted_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP specaudit:trimmed_tokens_total Number of tokens lost to a stop inside an accepted block.
# TYPE specaudit:trimmed_tokens_total counter
specaudit:trimmed_tokens_total{engine="0",model_name="markov4"} 1.0
# HELP specaudit:trimmed_tokens_created Number of tokens lost to a stop inside an accepted block.
# TYPE specaudit:trimmed_tokens_created gauge
specaudit:trimmed_tokens_created{engine="0",model_name="markov4"} 1795958842.5
# HELP specaudit:undrafted_steps_total Number of steps of a request without a draft.
# TYPE specaudit:undrafted_steps_total counter
specaudit:undrafted_steps_total{engine="0",model_name="markov4"} 4.0
# HELP specaudit:undrafted_steps_created Number of steps of a request without a draft.
# TYPE specaudit:undrafted_steps_created gauge
specaudit:undrafted_steps_created{engine="0",model_name="markov4"} 1795958842.5
"""


def exporter(model_name="markov4"):
    return Exporter(model_name=model_name, created=1795958842.5, process_start=1795958769.97)


def samples(page):
    return [sample for family in text_string_to_metric_families(page) for sample in family.samples]


def test_the_page_is_vllms_and_what_vllm_does_not_show():
    assert exporter().page(COUNTERS, running=2, waiting=1) == PAGE


def test_a_plain_server_has_no_series_of_speculation():
    page = exporter().page(Counters(accepted_per_position=(), undrafted=3, generation_tokens=3))
    assert "spec_decode" not in page
    assert 'vllm:generation_tokens_total{engine="0",model_name="markov4"} 3.0\n' in page


def test_series_of_speculation_are_there_before_traffic():
    page = exporter().page(Counters(accepted_per_position=(0, 0, 0)))
    positions = [s for s in samples(page) if s.name == "vllm:spec_decode_num_accepted_tokens_per_pos_total"]
    assert [(s.labels["position"], s.value) for s in positions] == [("0", 0), ("1", 0), ("2", 0)]


def test_model_names_are_escaped():
    name = 'a "quoted"\\path\nof two lines'
    parsed = samples(exporter(name).page(COUNTERS))
    assert {sample.labels.get("model_name", name) for sample in parsed} == {name}


def test_large_counts_stay_exact():
    counters = Counters(accepted_per_position=(), generation_tokens=2**53 - 1)
    (total,) = (s for s in samples(exporter().page(counters)) if s.name == "vllm:generation_tokens_total")
    assert total.value == 2**53 - 1
