import tomllib

from hypothesis import given
from hypothesis import strategies as st

from specaudit.model.toml_lines import key_lines

TEXT = '''\
# name = "commented out"
name = "x"  # title = 1
title = """
name = 3
[checks.LAW1]
\\""" tolerance = 5
"""
[checks."GRD1"]  # prompts = 3
tolerance = 1.5
prompts = [
  1, # [checks.LAW1]
  {a = 2, b = [3, "c = 4"]},
]
[ checks . LAW1 . sampling ]
'top k' = 1
a.b."c" = 1979-05-27T07:32:00+01:00
inline = {x = {y = 1e3}, z.w = 3}
after = true
[[rows]]
k = 1
[[rows]]
k = 2
'''


def test_every_key_and_table_has_its_line() -> None:
    sampling = ("checks", "LAW1", "sampling")
    assert key_lines(TEXT) == {
        ("name",): 2,
        ("title",): 3,
        ("checks",): 8,
        ("checks", "GRD1"): 8,
        ("checks", "GRD1", "tolerance"): 9,
        ("checks", "GRD1", "prompts"): 10,
        ("checks", "GRD1", "prompts", "a"): 12,
        ("checks", "GRD1", "prompts", "b"): 12,
        ("checks", "LAW1"): 14,
        sampling: 14,
        (*sampling, "top k"): 15,
        (*sampling, "a"): 16,
        (*sampling, "a", "b"): 16,
        (*sampling, "a", "b", "c"): 16,
        (*sampling, "inline"): 17,
        (*sampling, "inline", "x"): 17,
        (*sampling, "inline", "x", "y"): 17,
        (*sampling, "inline", "z"): 17,
        (*sampling, "inline", "z", "w"): 17,
        (*sampling, "after"): 18,
        ("rows",): 19,
        ("rows", "k"): 20,
    }


def paths(value: object, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Every path of keys in parsed TOML."""
    if isinstance(value, list):
        return set().union(*(paths(item, path) for item in value))
    if not isinstance(value, dict):
        return set()
    return set().union(*({(*path, key)} | paths(item, (*path, key)) for key, item in value.items()))


def test_the_example_is_toml_with_the_same_keys() -> None:
    assert paths(tomllib.loads(TEXT)) == set(key_lines(TEXT))


names = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,4}", fullmatch=True),
    st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S", "Zs"], exclude_characters='"\\')).map(
        lambda text: f'"{text}"'
    ),
)
values = st.recursive(
    st.sampled_from(["1", "-2.5", "true", '"a = 1 # {["', "'x'", "1979-05-27", '"""\na = [1\n"""', "'''\n[b]\n'''"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[\n{', '.join(items)} # c = 3\n]"),
        st.dictionaries(names, inner, max_size=2).map(
            lambda table: "{" + ", ".join(f"{key} = {value}" for key, value in table.items()) + "}"
        ),
    ),
    max_leaves=5,
)
tables = st.dictionaries(names, values, max_size=3)


@given(tables, st.dictionaries(names, tables, max_size=3))
def test_no_key_is_missed_and_none_is_made_up(loose: dict[str, str], headed: dict[str, dict[str, str]]) -> None:
    lines = [f"{key} = {value}" for key, value in loose.items()]
    for header, table in headed.items():
        lines += ["", f"[ {header} ] # k = 1", *(f"{key} = {value}" for key, value in table.items())]
    text = "\n".join(lines)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # one key twice, or a comment in a table that must stand on one line
    assert set(key_lines(text)) == paths(parsed)
