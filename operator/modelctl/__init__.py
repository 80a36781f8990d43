"""modelctl, the command line for people; also a kubectl plugin (`kubectl modelctl`).

    command line -> `main` -> one command (`commands`, a file each) -> exit code (`exits`)

Results go to stdout, progress and errors to stderr; an error is one line. `server` talks to the release API,
`login` finds the token for it, `screen` draws what changes. `snapshot` reads the cluster at one moment,
`doctor` judges it, `teardown` follows a deletion in it. Pure: `exits`, `views`, `doctor`.
"""
