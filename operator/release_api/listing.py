"""The list of releases as bytes: from memory, each row rendered once for as long as nothing of it changes."""

from collections.abc import Hashable

from release_api.auth import Sight
from release_api.checks import Checks
from release_api.names import Key
from release_api.plan import User
from release_api.service import Releases
from release_api.views import Facts, row

Seen = frozenset[str] | None
_MOST_BODIES = 16


class Listing:
    """Renders the list for a caller."""

    def __init__(self, releases: Releases, checks: Checks, sight: Sight) -> None:
        """Show what the caller may see of these releases."""
        self._releases, self._checks, self._sight = releases, checks, sight
        self._rows: dict[Key, tuple[Hashable, bytes]] = {}
        self._keys: tuple[int, list[Key], frozenset[str]] = (-1, [], frozenset())
        self._bodies: dict[Seen, tuple[int, bytes]] = {}

    async def body(self, user: User) -> bytes:
        """Return the answer's body. Raises ApiError."""
        _, namespaces = self._known()
        seen = await self._sight.of(user, namespaces)
        uninstalling = self._releases.tools.state.plans.uninstalling()
        await self._checks.before_read([p.key for p in uninstalling if seen is None or p.key[0] in seen])
        known = self._bodies.get(seen)
        generation = self._releases.tools.state.generation
        if known is not None and known[0] == generation:
            return known[1]
        return self._render(seen, generation)

    def _render(self, seen: Seen, generation: int) -> bytes:
        steady, rows = True, []
        keys, _ = self._known()
        for key in keys:
            if seen is not None and key[0] not in seen:
                continue
            facts = self._releases.facts(key)
            if facts is not None:
                steady &= not facts.uninstalling and not any(p.deletion_timestamp for p in facts.pods)
                rows.append(self._row(facts))
        body = b'{"items":[' + b",".join(rows) + b"]}"
        if steady:  # What uninstalls also changes with the hour.
            if len(self._bodies) >= _MOST_BODIES:
                self._bodies.clear()
            self._bodies[seen] = (generation, body)
        if len(self._rows) > 2 * len(keys):
            self._rows = {key: self._rows[key] for key in keys if key in self._rows}
        return body

    def _row(self, facts: Facts) -> bytes:
        mark = _fingerprint(facts)
        known = self._rows.get(facts.key)
        if known is not None and known[0] == mark and not facts.uninstalling:
            return known[1]
        now = self._releases.tools.clock.now()
        text = row(facts, now).model_dump_json(by_alias=True, exclude_none=True).encode()
        self._rows[facts.key] = (mark, text)
        return text

    def _known(self) -> tuple[list[Key], frozenset[str]]:
        """Return every key, and their namespaces; gathered anew only after a change."""
        generation = self._releases.tools.state.generation
        if self._keys[0] != generation:
            keys = self._releases.keys()
            self._keys = (generation, keys, frozenset(namespace for namespace, _ in keys))
        return self._keys[1], self._keys[2]


def _fingerprint(facts: Facts) -> Hashable:
    plan, service, revision = facts.plan, facts.service, facts.revision
    return (
        plan.version if plan is not None else "",
        service["metadata"]["resourceVersion"] if service is not None else "",
        (revision.version, revision.status) if revision is not None else (),
        len(facts.pods) if facts.pods_fresh else -1,
        facts.hold,
    )
