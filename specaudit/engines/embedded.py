"""Which world an embedded decoder decodes."""

from specaudit.decoding.worlds import WORLDS, World
from specaudit.model.errors import UsageError
from specaudit.model.nearest import nearest
from specaudit.mutants.registry import UnknownMutantError, get, get_control

HOME = "markov4"
"""The world that is decoded unless another is asked for, or the engine is at home in another."""


def world_named(name: str) -> World:
    """Return a world by its name.

    Raises:
        UsageError: there is none; the message names the nearest.
    """
    if name not in WORLDS:
        raise UsageError(f"There is no world named {name!r}.{nearest(name, WORLDS)}", hint=", ".join(sorted(WORLDS)))
    return WORLDS[name]


def home_of(engine: str) -> str:
    """Return the world that an embedded engine is at home in: that in which a mutant's fault can be seen.

    An engine that does not exist is at home anywhere; building it says so.
    """
    family, _, name = engine.partition(":")
    if family not in ("mutant", "control"):
        return HOME
    try:
        return (get if family == "mutant" else get_control)(name).world
    except (UnknownMutantError, ValueError):
        return HOME


def plain_of(engine: str, world: str) -> str:
    """Return the world whose plain decoding an embedded engine is held against.

    Args:
        engine: Its name.
        world: The world that it decodes. A mutant may have a plain target of its own, where it is at home.
    """
    family, _, name = engine.partition(":")
    if family != "mutant":
        return world
    try:
        mutant = get(name)
    except (UnknownMutantError, ValueError):
        return world
    return mutant.plain if mutant.world == world else world


def full_precision_of(world: str) -> str:
    """Return the world whose target was quantised to make this one's; the same where none was.

    Raises:
        UsageError: there is no such world.
    """
    return world_named(world).full_precision or world
