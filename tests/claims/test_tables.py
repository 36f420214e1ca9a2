from pathlib import Path

import msgspec
import pytest

from specaudit.claims.architecture import Architecture, Experts, check_architecture
from specaudit.claims.hardware import Device, check_device
from specaudit.claims.precisions import PRECISIONS
from specaudit.claims.tables import devices, models, read_devices, read_models
from specaudit.model.errors import UsageError

SHIPPED = [*devices().rows.values()]
H100 = devices().find("H100")


@pytest.mark.parametrize("device", SHIPPED, ids=lambda device: device.name)
def test_shipped_devices_are_right_by_the_rules_for_others(device: Device) -> None:
    check_device(device)
    assert device.source


@pytest.mark.parametrize("model", models().rows.values(), ids=lambda model: model.name)
def test_shipped_models_have_the_parameters_that_were_published(model: Architecture) -> None:
    check_architecture(model)
    assert model.source
    assert model.stated is not None


def test_the_figures_of_the_data_sheets() -> None:
    table = devices()
    assert [table.find(name).bytes_per_second / 1e12 for name in ("A100-80", "H100 SXM", "H200", "B200", "MI300X")] == [
        2.04,
        3.35,
        4.8,
        8.0,
        5.3,
    ]
    assert table.find("H200").flops(PRECISIONS["fp8"]) == 1979e12
    assert table.find("A100").flops(PRECISIONS["fp8"]) == 312e12  # multiplied as BF16
    assert table.find("h100-sxm").link_bytes_per_second == 450e9


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"memory": "80"}, "80' is no memory with a unit"),
        ({"bandwidth": "3.35 Tb/s"}, "may mean bits or bytes"),
        ({"link": "900 GB"}, "no bandwidth with a unit"),
        ({"dense": {"bf16": "1979 TFLOP/s"}}, "is twice what is known of it, as figures with sparsity are"),
        ({"name": "mine", "dense": {}}, "no dense operations"),
        ({"name": "mine", "dense": {"bf16": "989 TFLOP/s", "fp8": "3958 TFLOP/s"}}, "4.00 times dense.bf16"),
        ({"name": "mine", "dense": {"bf16": "989 TFLOP/s"}}, "sparse.fp8 = 3958 TFLOP/s stands without a dense"),
        (
            {
                "name": "mine",
                "dense": {"bf16": "989 TFLOP/s", "fp8": "2200 TFLOP/s"},
                "sparse": {"fp8": "2200 TFLOP/s"},
            },
            "1.00 times dense.fp8, where 2:4 sparsity gives twice",
        ),
    ],
)
def test_a_row_that_cannot_be_right_is_refused(changes: dict[str, object], what: str) -> None:
    with pytest.raises(UsageError) as told:
        devices([msgspec.structs.replace(H100, **changes)])
    assert what in told.value.message
    assert told.value.hint


def test_a_row_of_ones_own_takes_the_place_of_a_shipped_one_and_is_found_by_its_alias() -> None:
    own = msgspec.structs.replace(H100, bandwidth="3.0 TB/s", aliases=("my card",))
    table = devices([own])
    assert table.find("h100").bytes_per_second == 3e12
    assert table.find("My-Card") is table.find("H100")


def test_what_is_not_in_the_table_is_told_with_the_nearest_and_how_to_add_it() -> None:
    with pytest.raises(UsageError, match=r"no device 'H10' in the table. Did you mean 'H100'\?") as told:
        devices().find("H10", "hardware")
    assert told.value.hint == "Add it in a file with its source: --hardware FILE"


def test_files(tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.toml"
    hardware.write_text('[[device]]\nname = "X"\nmemory = "1 GB"\nbandwith = "1 TB/s"\nsource = "me"\n')
    with pytest.raises(UsageError, match=r"hardware.toml, line 4: unknown key 'bandwith'. Did you mean 'bandwidth'"):
        read_devices([hardware])
    with pytest.raises(UsageError, match="cannot be read"):
        read_models([tmp_path / "none.toml"])
    shape = "layers = 2\nhidden = 8\nheads = 2\nkv_heads = 1\nintermediate = 16\nvocabulary = 10\nstated = 5.0\n"
    own = tmp_path / "models.toml"
    own.write_text(f'[[model]]\nname = "tiny"\n{shape}source = "me"\n')
    with pytest.raises(UsageError, match=r"stated = 5 billion parameters, and its shape has 0.00 billion"):
        models(read_models([own]))


def test_more_active_experts_than_there_are() -> None:
    model = msgspec.structs.replace(
        models().find("gpt-oss-120B"), experts=Experts(routed=4, active=8, intermediate=2880), stated=None
    )
    with pytest.raises(UsageError, match="8 of 4 experts"):
        check_architecture(model)
