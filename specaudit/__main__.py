"""`python -m specaudit`."""

from specaudit.cli.main import main

main()
