"""What the watches keep in memory.

Services, pods, nodes and release revisions, each indexed by what is asked for.

Only what the rules read is kept of pods, nodes and Secrets, so that a cluster of many thousand pods fits.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet

from llm_operator.pods import Pod, ReleaseName, belongs, node_ready, pod_from_api
from llm_operator.records import Revision, revision_from_api
from llm_operator.resources import Key, Obj, key_of

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def _stale(known: Iterable[Key], keys: AbstractSet[Key], namespace: str | None) -> list[Key]:
    """Return the known keys, of one namespace or all, that are not among `keys`."""
    return [key for key in known if key not in keys and (namespace is None or key[0] == namespace)]


def version_of(obj: Obj) -> int:
    """Return an object's resourceVersion; the API server guarantees that they are numbers that only grow."""
    return int(obj["metadata"]["resourceVersion"])


def _slim(obj: Obj) -> Obj:
    """Take out of an object what only writers read: it can be larger than all the rest."""
    obj["metadata"].pop("managedFields", None)
    (obj["metadata"].get("annotations") or {}).pop(_LAST_APPLIED, None)
    return obj


class Services:
    """LLMServices as stored; `changed` is told the key of each one that came, changed or went."""

    def __init__(self, changed: Callable[[Key], None]) -> None:
        """Start empty."""
        self._objects: dict[Key, Obj] = {}
        self._changed = changed

    def get(self, key: Key) -> Obj | None:
        """Return the newest copy known."""
        return self._objects.get(key)

    def all(self) -> Iterable[Obj]:
        """Return every object."""
        return list(self._objects.values())

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget objects that went while nobody watched."""
        for key in _stale(self._objects, keys, namespace):
            del self._objects[key]
            self._changed(key)

    def put(self, obj: Obj) -> None:
        """Take an object unless a newer copy is known, as after a write of our own."""
        if self.keep(obj):
            self._changed(key_of(obj))

    def keep(self, obj: Obj) -> bool:
        """Take an object like `put` but tell nobody: it is what we wrote ourselves.

        Return whether it was news.
        """
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and version_of(old) >= version_of(obj):
            return False
        self._objects[key] = _slim(obj)
        return True

    def drop(self, obj: Obj) -> None:
        """Forget an object, unless a successor of the same name is already known."""
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and version_of(old) <= version_of(obj):
            del self._objects[key]
        self._changed(key)


class Pods:
    """Pods by the labels that make them a release's."""

    def __init__(self) -> None:
        """Start empty."""
        self._pods: dict[Key, Pod] = {}
        self._by_label: dict[tuple[str, str], set[Key]] = defaultdict(set)

    def of(self, release: ReleaseName) -> tuple[Pod, ...]:
        """Return the release's pods, finished ones included."""
        keys = {
            key
            for label in (release.name, release.app)
            for key in self._by_label.get((release.namespace, label), ())
        }
        return tuple(pod for pod in (self._pods[key] for key in keys) if belongs(pod, release))

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget pods that went while nobody watched."""
        for key in _stale(self._pods, keys, namespace):
            self._drop(key)

    def put(self, obj: Obj) -> None:
        """Take a pod; one without any of our labels is nobody's and not kept."""
        self.drop(obj)
        pod = pod_from_api(obj)
        for label in filter(None, (pod.instance, pod.app)):
            self._pods[pod.namespace, pod.name] = pod
            self._by_label[pod.namespace, label].add((pod.namespace, pod.name))

    def drop(self, obj: Obj) -> None:
        """Forget a pod."""
        self._drop(key_of(obj))

    def _drop(self, key: Key) -> None:
        old = self._pods.pop(key, None)
        for label in filter(None, (old.instance, old.app)) if old is not None else ():
            index = self._by_label[key[0], label]
            index.discard(key)
            if not index:
                del self._by_label[key[0], label]


class Nodes:
    """Node name -> Ready."""

    def __init__(self) -> None:
        """Start empty."""
        self.ready: dict[str, bool] = {}

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget nodes that went while nobody watched; they have no namespace."""
        del namespace
        self.ready = {name: ready for name, ready in self.ready.items() if ("", name) in keys}

    def put(self, obj: Obj) -> None:
        """Take a node."""
        self.ready[obj["metadata"]["name"]] = node_ready(obj)

    def drop(self, obj: Obj) -> None:
        """Forget a node: its pods are then on a missing node."""
        self.ready.pop(obj["metadata"]["name"], None)


class Revisions:
    """Release revisions by namespace and release name, from the metadata of their Secrets."""

    def __init__(self) -> None:
        """Start empty."""
        self._by_release: dict[Key, dict[str, Revision]] = {}

    def of(self, namespace: str, release: str) -> tuple[Revision, ...]:
        """Return the revisions known of a release."""
        return tuple(self._by_release.get((namespace, release), {}).values())

    def keep_only(self, keys: AbstractSet[Key], namespace: str | None = None) -> None:
        """Forget Secrets that went while nobody watched."""
        known = [(r.namespace, r.secret) for release in self._by_release.values() for r in release.values()]
        stale = set(_stale(known, keys, namespace))
        for found in [r for release in self._by_release.values() for r in release.values()]:
            if (found.namespace, found.secret) in stale:
                self._forget(found)

    def put(self, obj: Obj) -> None:
        """Take a Secret; one that is not a release's is passed over."""
        revision = revision_from_api(obj)
        if revision is not None:
            release = self._by_release.setdefault((revision.namespace, revision.release), {})
            release[revision.secret] = revision

    def drop(self, obj: Obj) -> None:
        """Forget a Secret."""
        revision = revision_from_api(obj)
        if revision is not None:
            self._forget(revision)

    def _forget(self, revision: Revision) -> None:
        release = self._by_release.get((revision.namespace, revision.release), {})
        release.pop(revision.secret, None)
        if not release:
            self._by_release.pop((revision.namespace, revision.release), None)
