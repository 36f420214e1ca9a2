import io

import pytest
from rich.console import Console

from specaudit.audit.events import Earned, Judging, Probed, RateLimited, RequestEnded, Resumed, StageStarted
from specaudit.cli import progress
from specaudit.cli.progress import listener
from specaudit.model.capabilities import Capabilities
from specaudit.model.finding import Betting
from specaudit.model.limits import Limits, Spending
from specaudit.model.plan import Arm
from tests.audit.small import made_stage

EVENTS = (
    Probed(
        Arm(role="subject", engine="openai", endpoint="http://127.0.0.1:8000/v1"),
        Capabilities(engine="openai", model="a[/b]\x1b[31m"),
    ),
    StageStarted(made_stage([2, 1], name="LAW1.sample")),
    RequestEnded(answered=True, tokens=1500),
    RequestEnded(answered=False, tokens=0),
    Judging(),
)


def test_without_a_terminal_there_is_a_line_a_stage(capsys: pytest.CaptureFixture[str]) -> None:
    with listener(quiet=False) as listen:
        for event in EVENTS:
            listen(event)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        r"subject: http://127.0.0.1:8000/v1, model a[/b]\x1b[31m",
        "LAW1.sample: 3 requests, up to 6 tokens",
        "judging",
    ]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with listener(quiet=True) as listen:
        for event in EVENTS:
            listen(event)
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_goes_away_does_not_end_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(progress.click, "echo", broken)
    with listener(quiet=False) as listen:
        for event in EVENTS:
            listen(event)


def test_a_terminal_has_a_bar_a_stage() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80)
    with progress._bar(console) as bar:
        listen = progress._Bar(bar, clock=iter((0.0, 1.0, 2.0, 3.0)).__next__)
        for event in EVENTS:
            listen(event)
        task = bar.tasks[0]
        assert (task.description, task.completed, task.total) == ("LAW1.sample", 2, 3)
        assert task.fields == {"tokens": 1500, "rate": "750", "lost": ", 1 lost"}
    assert "1,500 tokens, 750/s, 1 lost" in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("kind", "bar"), [("xterm", True), ("dumb", False)])
def test_the_bar_is_for_terminals_that_can_move(monkeypatch: pytest.MonkeyPatch, kind: str, bar: bool) -> None:
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr("sys.stderr", Terminal())
    with listener(quiet=False) as listen:
        assert isinstance(listen, progress._Bar) is bar


RESUMED = (
    Resumed(answered=1200, sealed=False),
    StageStarted(made_stage([2, 1], name="LAW1.sample"), settled=2),
    RequestEnded(answered=True, tokens=2),
)


def test_a_resumed_audit_says_what_was_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    with listener(quiet=False) as listen:
        for event in (*RESUMED, Resumed(answered=1203, sealed=True)):
            listen(event)
    assert capsys.readouterr().err.splitlines() == [
        "going on behind 1,200 answered requests",
        "LAW1.sample: 3 requests, up to 6 tokens, 2 of them done before",
        "this audit is complete already: nothing is asked, its evidence is judged again",
    ]


def test_the_bar_of_a_resumed_stage_begins_where_it_was() -> None:
    out = io.StringIO()
    with progress._bar(Console(file=out, force_terminal=True, width=80)) as bar:
        listen = progress._Bar(bar)
        for event in RESUMED:
            listen(event)
        assert (bar.tasks[0].completed, bar.tasks[0].total) == (3, 3)
    assert "going on behind 1,200 answered requests" in out.getvalue()


def test_a_limit_on_the_rate_is_told_with_and_without_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    told = "the reference limits its requests: it is asked as often as it allows"
    with listener(quiet=False) as listen:
        listen(RateLimited("reference"))
    assert capsys.readouterr().err == f"{told}\n"
    out = io.StringIO()
    with progress._bar(Console(file=out, force_terminal=True, width=80)) as bar:
        progress._Bar(bar)(RateLimited("reference"))
    assert told in out.getvalue()


LIMITS = Limits(token_budget=10_000, max_requests=50, price_in=1.0, price_out=2.0, max_cost=0.5)
SPENT = Spending(requests=3, prompt_tokens=1_000, generated_tokens=5_000)
EARNED = Earned("LAW1", Betting(log_e=2.0, p_value=0.1, tokens=4_000, rejected_after=None, leader="x", threshold=9.0))


def test_what_is_spent_what_is_left_and_what_bets_earn_stands_below_the_bars() -> None:
    out = io.StringIO()
    with progress._bar(Console(file=out, force_terminal=True, width=120)) as bar:
        listen = progress._Bar(bar)
        listen(StageStarted(made_stage([2, 1], name="LAW1.sample"), limits=LIMITS))
        assert bar.told == ""
        listen(RequestEnded(answered=True, tokens=2, spent=SPENT))
        listen(EARNED)
        assert bar.told == (
            "spent 6,000 tokens in 3 requests, cost 0.01, left: 4,000 tokens, 47 requests, 0.49 of 0.5; "
            "LAW1 e-value 7.39 of 8,103"
        )
    assert "LAW1 e-value 7.39 of 8,103" in out.getvalue()


def test_verbose_tells_what_bets_earn_and_usual_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (False, True):
        with listener(quiet=False, verbose=verbose) as listen:
            listen(EARNED)
    assert capsys.readouterr().err == "LAW1 e-value 7.39 of 8,103 after 4,000 tokens\n"


def test_an_e_value_without_limit_is_told() -> None:
    path = ((0, 0.0), (5, None))
    won = Betting(log_e=None, p_value=0.0, tokens=5, rejected_after=5, leader="x", path=path)
    assert progress._earned(Earned("LAW3", won)) == "LAW3 e-value without limit"
