"""Prometheus itself as a process, and an exporter whose numbers a test sets.

Built from its Go module like everything else of the control plane; without its web console.
"""
