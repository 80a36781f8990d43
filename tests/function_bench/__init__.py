"""Measures the served function beside the SDK's echo and Modelplane's: `python -m function_bench`."""
