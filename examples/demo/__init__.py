"""`make demo`: an InferenceCluster with two services comes up and goes down on a real control plane.

    demo.py ──> backstage (control plane, packages, controller, kubectl)
        │
        └─ watch events ──> story (moments: what, when, why) ──> screen (lines)
                       └──> verdict (was the order kept?)   ──┘

`objects` (what one object says), `story`, `verdict` and the functions of `screen` are pure. `modes` has the
two ways down, `settings.yaml` what the ServingStack installs.
"""
