"""The operator's one import package: a shared kernel and the programs on top of it.

Kernel, pure: `durations`, `routes`, `pods`, `records`. Kernel, doing I/O: `kube` (the API server), `helm`
(the command line). Programs: `teardown` (the LLMService controller).
"""
