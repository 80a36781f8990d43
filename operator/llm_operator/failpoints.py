"""Fail points: places where a test has the process kill itself. Off unless the environment names one.

`LLM_OPERATOR_FAIL_POINT=NAME` kills with SIGKILL, as a crash or an out-of-memory kill would, the first time
that the process comes to NAME. The names are made where they are reached: `recorded:<stage>`,
`acted:<action>` and so on.
"""

import os
import signal

VARIABLE = "LLM_OPERATOR_FAIL_POINT"
_NAMED = os.environ.get(VARIABLE)


def reach(name: str) -> None:
    """Die here when the environment says so."""
    if name == _NAMED:
        os.kill(os.getpid(), signal.SIGKILL)
