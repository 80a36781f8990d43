"""What a failed call of the API server means to the caller of ours; its own words are not passed on."""

import pytest

from llm_operator.kube import ApiError
from release_api.problems import of_api_error

SAID = "the Secret names hunter22"
NAMESPACE = {"details": {"kind": "namespaces", "name": "tide"}}
CALLS: dict[str, tuple[int, ApiError]] = {
    "no answer": (503, ApiError(0, SAID)),
    "broken": (503, ApiError(500, SAID)),
    "busy": (503, ApiError(429, SAID)),
    "not allowed to the server": (503, ApiError(403, SAID)),
    "raced": (409, ApiError(409, SAID)),
    "raced in a patch": (409, ApiError(422, SAID)),
    "no such namespace": (404, ApiError(404, SAID, NAMESPACE)),
    "no such kind": (503, ApiError(404, SAID)),
    "namespace ends": (409, ApiError(403, f"{SAID}: because it is being terminated")),
    "too large": (413, ApiError(413, SAID)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    """Each failure has its status, and tells nothing of what the API server said."""
    status, error = CALLS[name]
    got, detail = of_api_error(error)
    assert got == status
    assert "hunter22" not in detail
