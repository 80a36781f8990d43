"""Asks the API server which revisions of a release helm stores, past every cache."""

from llm_operator.kube import Kube
from llm_operator.records import SECRET_TYPE, SELECTOR, Revision, revision_from_api
from llm_operator.resources import SECRETS, Selection


async def revisions(kube: Kube, namespace: str, release: str) -> tuple[Revision, ...]:
    """Read the metadata of a release's records; none means that helm does not hold it. Raises ApiError."""
    selection = Selection(
        SECRETS,
        namespace,
        labels=f"{SELECTOR},name={release}",
        fields=f"type={SECRET_TYPE}",
        metadata_only=True,
    )
    objects, _ = await kube.list(selection)
    return tuple(found for found in map(revision_from_api, objects) if found is not None)
