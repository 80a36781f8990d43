"""Lets `python -m function` serve the function."""

import gc

gc.disable()  # nothing that an import makes is garbage; main turns it on again

from function.main import main  # noqa: E402 -- after the line above, which is for this import

main()
