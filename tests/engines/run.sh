#!/usr/bin/env bash
# The longer runs against real engines, which CI has no time for. usage: tests/engines/run.sh llamacpp [SUITE …]
# What they print is kept under reports/engines/; exit code 1 where a verdict is not the expected one.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:?which engine: llamacpp}" in
  llamacpp) exec python -m tests.engines.llamacpp.full "${@:2}" ;;
  *)
    echo "there are no runs for ${1}: llamacpp" >&2
    exit 2
    ;;
esac
