"""What the operator's tests share.

A plane with the operator's API, controllers as processes, charts, and cases.

`world` brings a control plane up, `charts` serves test charts, `controller` runs the program under test,
`proxy` injects faults between it and the API server, `cases` runs a case file, `audit` reads the witness.
"""
