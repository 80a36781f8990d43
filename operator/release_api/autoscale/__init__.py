"""The autoscaler: how many replicas each role of a release gets.

`loop` reads the policies (`policy`), asks Prometheus (`prometheus`) and decides (`decide`, pure); what it
decides is applied under the release's lock, as the user that the plan records.
"""
