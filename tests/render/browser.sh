#!/usr/bin/env bash
# Open the pages that specaudit writes in a headless Chromium: no errors, no requests, no overflow, AA, keyboard.
#
#   tests/render/browser.sh [FOLDER]    screenshots go to FOLDER, by default browser-artifacts
#
# Installs what it needs: Debian's chromium where there is none (as root), and into a scratch folder, kept between runs,
# playwright from PyPI and axe-core from npm. Exits with 3 where there is no Chromium and none can be installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
artifacts=$(realpath -m "${1:-browser-artifacts}")
scratch=${SPECAUDIT_BROWSER_SCRATCH:-${XDG_CACHE_HOME:-$HOME/.cache}/specaudit-browser}
python=${PYTHON:-python3}
mkdir -p "$scratch" "$artifacts"

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$chromium" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "There is no Chromium here, and it cannot be installed: apt-get and root are needed." >&2
    exit 3
  fi
  apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null
  chromium=$(command -v chromium)
fi
if [ ! -f "$scratch/playwright/playwright/__init__.py" ]; then
  "$python" -m pip install -q --disable-pip-version-check --target "$scratch/playwright" "playwright>=1.49"
fi
axe="$scratch/axe/node_modules/axe-core/axe.min.js"
if [ ! -f "$axe" ]; then
  npm install --silent --no-audit --no-fund --prefix "$scratch/axe" axe-core@4.10.3 >/dev/null
fi
PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}:$scratch/playwright" \
  "$python" -m tests.render.browser --chromium "$chromium" --axe "$axe" --artifacts "$artifacts"
