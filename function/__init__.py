"""A Crossplane composition function that brings inference clusters up and down in order.

What hands what to which, one way only:

    request -> spec, settings, observed -> plan -> resources -> response

- `server` serves it, and answers a request that it has had before from memory.
- `wire` parses a request no further than needed; `structs` reads what it parsed.
- `fn` receives a RunFunctionRequest and picks the planner of its composite's kind.
- `spec`, `settings` and `observed` read the request into frozen values, or raise `SpecError`.
- `order` is the one table of what outlives what: creation gates and Usages are both derived from it.
- `sources` says, one small file each, how a cluster source differs from the others.
- `cluster` (InferenceCluster) and `stack` (ServingStack) decide a `Plan`: pure, no manifests.
- `late` adds Usages to what earlier steps of any other pipeline desire, and changes nothing else of it.
- `retire` decides when something that is no longer planned may really leave desired.
- `resources` renders a plan as manifests; `respond` alone writes them to the response.
"""
