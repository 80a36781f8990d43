"""The release API: sees, installs, upgrades, rolls back and removes releases of LLM servers.

A request runs one way: `app` takes it, `auth` says who may, `service` picks the backend, `lock` makes sure of
one writer a release, `backends` act, `plans` records. Beside it `checks` looks every 5 s whether what
uninstalls is really gone. Pure: `names`, `models`, `plan`, `seal`, `views`, `reap`.
"""
