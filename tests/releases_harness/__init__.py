"""What the release API's tests share.

`server` runs the program under test, `client` talks to it as a caller, `callers` makes accounts and their
rights, `cases` runs a case file. Planes, charts, faults and the audit log are `operator_harness`'s.
"""
