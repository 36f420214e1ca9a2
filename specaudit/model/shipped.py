"""Files that come with the package: suites, prompts and what else stands beside the code."""

from importlib.resources import files
from pathlib import Path

_INSTALLED = "shipped/suites"
"""Inside the wheel. In a checkout the same files stand in `suites/` beside the package."""


def shipped_folder() -> Path:
    """Return the folder of the shipped suites."""
    package = Path(str(files("specaudit")))
    folder = package / _INSTALLED
    return folder if folder.is_dir() else package.parent / "suites"
