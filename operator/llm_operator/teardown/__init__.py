"""The LLMService controller: event -> observed facts -> pure next-stage decision -> status write -> action.

`api` names the resource, `model` the values that flow; `knobs`, `stages`, `release`, `status` and `events`
decide (pure); `observe` reads, `actions` writes, `reconcile` runs one pass, `main` runs the process.
"""
