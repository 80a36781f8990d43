"""A real local Kubernetes control plane with Crossplane, without containers: for tests, the demo and benches.

`plane.Plane.up` is the door. What happens behind it: `toolbox` builds the programs that `catalog` lists;
`launcher` starts `supervisor` in namespaces of its own; `boot` brings Kubernetes up through it, `crossplane`
Crossplane, `packages` the providers. `running` is what one can do with a plane; `kube` and `timeline` are
what one looks at it with.
"""
