"""Writes the references `package/reference.md` and `operator/reference.md`.

What has a list in the code or a schema is read there: fields, metrics, flags, exit codes. What has none
stands in `tables.yaml`; `found` looks for it in the code, so that a test can compare.
`python -m support.reference` writes the files.
"""
