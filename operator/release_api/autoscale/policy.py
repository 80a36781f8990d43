"""The policy of a release's autoscaler, as its ConfigMap `swiss-autoscale-<release>` carries it. Pure.

`policy.yaml` of that ConfigMap names, for each role, how many replicas there may be, what one replica should
carry, and the query that says what all of them carry together.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from llm_operator.durations import parse_wait

FILE = "policy.yaml"
ONE_ROLE = "server"
PATHS: Mapping[str, str] = {
    "prefill": "prefill.replicas",
    "decode": "decode.replicas",
    ONE_ROLE: "replicas",
}
"""The roles, and where a chart's values keep the replicas of each unless the policy says otherwise."""

_PATH = r"^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*){0,7}$"


class PolicyError(ValueError):
    """The ConfigMap holds no usable policy; the message says where and what is wrong, on one line."""


def _duration(text: object) -> timedelta:
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a duration: write it like 1h30m, 90s or 250ms")  # noqa: TRY004 - pydantic collects ValueErrors
    return parse_wait(text)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Cooldown(_Part):
    """How long after a change of the role nothing is added, and nothing taken away."""

    up: Annotated[timedelta, BeforeValidator(_duration)] = timedelta(seconds=30)
    down: Annotated[timedelta, BeforeValidator(_duration)] = timedelta(minutes=5)


class Role(_Part):
    """The policy of one role."""

    least: int = Field(alias="min", ge=0, le=10_000)
    most: int = Field(alias="max", ge=1, le=10_000)
    query: str = Field(min_length=1, max_length=4096)
    target: float = Field(gt=0, allow_inf_nan=False)
    """What one replica should carry, in the unit of the query."""
    tolerance: float = Field(default=0.1, ge=0, lt=1)
    """How far the load of one replica may be from the target, as a share of it, before anything changes."""
    cooldown: Cooldown = Cooldown()
    values: str = Field(default="", pattern=f"{_PATH}|^$")
    """Where in the chart's values the replicas stand; empty: the role's own place (see `PATHS`)."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"min {self.least} is more than max {self.most}")
        return self


class Policy(_Part):
    """The policy of one release: a `Role` by name."""

    roles: dict[str, Role] = Field(min_length=1)

    @model_validator(mode="after")
    def _known(self) -> Self:
        unknown = sorted(set(self.roles) - set(PATHS))
        if unknown:
            raise ValueError(f"roles: {', '.join(unknown)}: unknown role: use one of {', '.join(PATHS)}")
        if ONE_ROLE in self.roles and len(self.roles) > 1:
            raise ValueError(f"roles: {ONE_ROLE} is the role of a release that has no other")
        places = [self.path(name) for name in self.roles]
        if len(places) != len(set(places)):
            raise ValueError(
                f"roles: {places[0]} holds the replicas of two roles: give each its own `values`"
            )
        return self

    def path(self, role: str) -> str:
        """Return where in the values a role's replicas stand, its parts joined by dots."""
        return self.roles[role].values or PATHS[role]


def parse(data: Mapping[str, str]) -> Policy:
    """Read the policy in a ConfigMap's data; raises PolicyError."""
    if FILE not in data:
        raise PolicyError(f"{FILE} is missing: put the policy there")
    try:
        loaded = yaml.safe_load(data[FILE])
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise PolicyError(f"{FILE} is not YAML{where}: {getattr(error, 'problem', None) or error}") from None
    except RecursionError:
        raise PolicyError(f"{FILE} is nested too deeply") from None
    try:
        return Policy.model_validate(loaded)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False)
        raise PolicyError(f"{FILE}: " + "; ".join(_problem(dict(one)) for one in found)) from None


def _problem(error: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    said = str(error["msg"]).removeprefix("Value error, ")
    given = error["input"]
    shown = f" (it is {given!r})" if isinstance(given, str | int | float) and len(str(given)) <= 40 else ""  # noqa: PLR2004 - one line
    return f"{where}: {said}{shown}" if where else f"{said}{shown}"
