"""`python -m modelctl`."""

from modelctl.main import main

main()
