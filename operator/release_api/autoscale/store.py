"""The ConfigMaps `swiss-autoscale-<release>`: the policy that people write, and what the server remembers.

`policy.yaml` is theirs, `status.yaml` ours. A write carries the resourceVersion that was read, so of several
replicas of the server that decide at the same time one goes on and the others leave it to that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from llm_operator.kube import Kube
from llm_operator.pods import parse_time
from llm_operator.resources import CONFIGMAPS, Obj, Selection
from release_api.autoscale.model import Decision, Memory
from release_api.names import AUTOSCALE_LABEL, Key, autoscale_ref

STATUS = "status.yaml"


def selection(namespace: str | None) -> Selection:
    """Return which ConfigMaps are policies."""
    return Selection(CONFIGMAPS, namespace, labels=AUTOSCALE_LABEL)


@dataclass(frozen=True, slots=True)
class Stored:
    """The ConfigMap of one release as it was read."""

    key: Key
    data: Mapping[str, str]
    version: str


def stored(key: Key, obj: Obj) -> Stored:
    """Read the ConfigMap of a release."""
    return Stored(key, dict(obj.get("data") or {}), str(obj["metadata"]["resourceVersion"]))


def memories(one: Stored) -> dict[str, Memory]:
    """Return what is remembered of each role; what cannot be read is forgotten: a first run again."""
    found = {}
    for name, role in _roles(one).items():
        try:
            found[name] = Memory(_moment(role["since"]), bool(role.get("scaled")))
        except (LookupError, TypeError, ValueError, AttributeError):
            continue
    return found


def is_news(one: Stored, decisions: Mapping[str, Decision]) -> bool:
    """Say whether the decisions differ from what is stored in more than their wording, which has the load."""
    return _plain(_roles(one)) != _plain({name: _role(role) for name, role in decisions.items()})


async def write(kube: Kube, one: Stored, decisions: Mapping[str, Decision]) -> Stored:
    """Write our part on the version that was read. Raises ApiError, with 409 when somebody was faster."""
    text = yaml.safe_dump({"roles": {name: _role(role) for name, role in decisions.items()}}, width=1000)
    body = {"metadata": {"resourceVersion": one.version}, "data": {STATUS: text}}
    return stored(one.key, await kube.merge(autoscale_ref(one.key), body))


def _roles(one: Stored) -> dict[str, Any]:
    try:
        roles = (yaml.safe_load(one.data.get(STATUS, "")) or {}).get("roles")
    except (yaml.YAMLError, AttributeError, ValueError, RecursionError):
        return {}
    return roles if isinstance(roles, dict) else {}


def _plain(roles: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {field: role[field] for field in role if field != "message"} if isinstance(role, dict) else role
        for name, role in roles.items()
    }


def _role(decision: Decision) -> dict[str, Any]:
    out: dict[str, Any] = {"verdict": str(decision.verdict), "message": decision.message}
    out |= {"replicas": decision.replicas} if decision.replicas is not None else {}
    if decision.memory is not None:
        out |= {"since": decision.memory.since.isoformat(), "scaled": decision.memory.scaled}
    return out


def _moment(text: object) -> datetime:
    moment = parse_time(str(text))
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment
