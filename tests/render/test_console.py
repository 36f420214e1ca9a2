"""Text from elsewhere is shown as it is: nothing of rich's own notation is obeyed."""

import pytest

from specaudit.model.capabilities import Capabilities
from specaudit.model.checkup import Checkup, Item, Parameter
from specaudit.model.limits import NOTHING
from specaudit.render.checkup import render_checkup


@pytest.mark.parametrize(
    "said", ["it wants [/x] here", "a text of [ab]+", "[bold]all[/bold]", "a :smile: of the server"]
)
def test_a_servers_words_are_no_markup(said: str) -> None:
    found = Checkup(
        tool="0",
        endpoint=f"http://127.0.0.1/{said}",
        capabilities=Capabilities(engine="openai"),
        known=True,
        items=(Item(topic="engine", question="Which model?", state="yes", answer=said),),
        parameters=(Parameter(name="stop", treatment="refused", seen=said),),
        checks=(),
        advice=(),
        spent=NOTHING,
    )
    for color in (False, True):
        assert render_checkup(found, width=120, color=color).count(said) == 3
