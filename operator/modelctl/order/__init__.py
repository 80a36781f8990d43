"""The order of a cluster, up and down: read off what the function composes, or off the server.

    files -> `documents` -> `simulate` (the function, in process) -> `assemble` -> `text`, `mermaid`, `svg`
    server -> `live` ------------------------------------------------^

Who holds what is only ever read from Usages, and why from the function's own table; nothing of the order is
written down here. Pure: `assemble`, `graph`, `text`, `mermaid`, `svg`.
"""
