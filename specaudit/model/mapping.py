"""One function applied to every leaf of a record, however deep it stands."""

from collections.abc import Callable
from typing import Any

import msgspec


def mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return the value with `leaf` applied to everything that is neither record, tuple, list nor dictionary.

    Keys of dictionaries are leaves too; names of fields are not.
    """
    match value:
        case msgspec.Struct():
            return type(value)(**{name: mapped(getattr(value, name), leaf) for name in value.__struct_fields__})
        case dict():
            return {leaf(key): mapped(item, leaf) for key, item in value.items()}
        case tuple():
            return tuple(mapped(item, leaf) for item in value)
        case list():
            return [mapped(item, leaf) for item in value]
    return leaf(value)
