"""The version of this tool, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("specdec-audit")
except PackageNotFoundError:  # run from a checkout that is not installed
    VERSION = "0+unknown"
