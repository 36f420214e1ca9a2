from importlib.metadata import EntryPoint

import pytest

from specaudit.engines import registry
from specaudit.engines.interface import Access
from specaudit.engines.reference import ReferenceEngine
from specaudit.engines.server import ServerEngine
from specaudit.model.errors import UsageError
from specaudit.model.plan import Arm


def build(engine, **fields):
    return registry.build(Arm(role="subject", engine=engine, **fields), Access())


def test_engines_are_built_by_name():
    assert isinstance(build("reference"), ReferenceEngine)
    assert isinstance(build("mutant:resid-from-target"), ReferenceEngine)
    assert isinstance(build("openai", endpoint="http://127.0.0.1:1/v1"), ServerEngine)


def test_every_built_in_engine_is_described():
    assert registry.DESCRIPTIONS.keys() == registry.BUILT_IN.keys()


@pytest.mark.parametrize("name", ["referense", "", ":", "Reference", "mutants:resid-from-target"])
def test_an_unknown_name_is_refused(name):
    with pytest.raises(UsageError, match="There is no engine named") as caught:
        build(name)
    assert caught.value.hint == "specaudit list engines"


def test_the_nearest_name_is_given():
    with pytest.raises(UsageError, match=r"no engine named 'referense'\. Did you mean 'reference'\?"):
        build("referense")


def test_other_packages_add_engines(monkeypatch):
    points = [
        EntryPoint("theirs", "specaudit.engines.reference", "specaudit.engines"),
        EntryPoint("reference", "no.such.module", "specaudit.engines"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "specaudit.engines" else [])
    assert registry.modules()["theirs"] == "specaudit.engines.reference"
    assert registry.modules()["reference"] == "specaudit.engines.reference", "what is built in cannot be replaced"
