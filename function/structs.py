"""Reads and writes protobuf Structs directly, touching only what is asked for.

Converting whole observed resources to dicts is what makes a composition function slow: managed fields and
the specs of others are most of the bytes, and nobody reads them.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

from google.protobuf import struct_pb2

from function import wire
from function.memo import Memo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from function.wire import Struct, Value

_EMPTY = struct_pb2.Struct()

# The version of the marshal format in which equal values have equal bytes, and unequal ones never.
_WITHOUT_REFERENCES = 2

Plain = Any  # JSON: None, bool, int, float, str, list[Plain] or dict[str, Plain]


# Throughout: `key in fields` and then `fields[key]` cost a third of `fields.get(key)`; `fields[key]` alone
# would add the key.


def get(struct: Struct, *path: str) -> Value | None:
    """Return the Value at `path`, or None where any step is missing or not a block."""
    value: Value | None = None
    for step in path:
        # The struct_value of a Value that is no block reads as an empty one, and stays unset.
        fields = (struct if value is None else value.struct_value).fields
        if step not in fields:
            return None
        value = fields[step]
    return value


def text(struct: Struct, *path: str) -> str:
    """Return the string at `path`, or the empty string where there is none."""
    value = get(struct, *path)
    return value.string_value if value is not None else ""


def texts(struct: Struct, *names: str) -> list[str]:
    """Return several strings of one block, each empty where there is none."""
    fields = struct.fields
    return [fields[name].string_value if name in fields else "" for name in names]


def named(struct: Struct) -> tuple[str, str]:
    """Return metadata.name and metadata.namespace; written out, because a thousand users are read so."""
    fields = struct.fields
    if "metadata" not in fields:
        return "", ""
    fields = fields["metadata"].struct_value.fields
    name = fields["name"].string_value if "name" in fields else ""
    return name, fields["namespace"].string_value if "namespace" in fields else ""


def within(struct: Struct, name: str) -> Struct:
    """Return the block `name`, an empty one where there is none: to be read, never written to."""
    fields = struct.fields
    return fields[name].struct_value if name in fields else _EMPTY


def block(struct: Struct, *path: str) -> Struct | None:
    """Return the nested Struct at `path`, or None where there is none."""
    value = get(struct, *path)
    return value.struct_value if value is not None and value.HasField("struct_value") else None


def entries(value: Value | None) -> Sequence[Value]:
    """Return the entries of a list, none where it is none; parses them where nobody has."""
    if value is None:
        return ()
    found = value.list_value
    return wire.values(found) if type(found) is bytes else found.values


def blocks(struct: Struct, *path: str) -> list[Struct]:
    """Return the Structs of the list at `path`; entries of other types are left out."""
    return [v.struct_value for v in entries(get(struct, *path)) if v.HasField("struct_value")]


def conditions(struct: Struct) -> dict[str, str]:
    """Return the status of each condition by its type; of two of one type the first counts."""
    found: dict[str, str] = {}
    for entry in entries(get(struct, "status", "conditions")):
        kind, status = texts(entry.struct_value, "type", "status")
        found.setdefault(kind, status)
    return found


def plain(value: Value | None) -> Plain:
    """Convert a Value to plain Python; whole numbers become int, since JSON knows only doubles."""
    if value is None:
        return None
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "struct_value":
        return plain_block(value.struct_value)
    if kind == "list_value":
        return [plain(v) for v in entries(value)]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return value.bool_value if kind == "bool_value" else None


def plain_block(struct: Struct) -> dict[str, Plain]:
    """Convert a Struct to a dict; see `plain`."""
    fields = struct.fields
    return {key: plain(fields[key]) for key in fields}


# Most of what is read and written is the same as in the pass before: it is made once, then copied. Longer
# ones are neither kept nor looked up, which bounds the memory at a few MiB.
_MOST_KEPT = 256
_LONGEST_KEPT = 16 * 1024
_read: Memo[bytes, Plain] = Memo(_MOST_KEPT)
_written: Memo[bytes, struct_pb2.Value] = Memo(_MOST_KEPT)


def shared(value: Value | None) -> Plain:
    """Convert a Value as `plain` does; the same content gives the same object, which nobody may change.

    Crossplane writes maps in no fixed order, so the key is the content written again in one.
    """
    if value is None:
        return None
    whole = struct_pb2.Value.FromString(value.SerializeToString())
    key = whole.SerializeToString(deterministic=True)
    found = _read.get(key)
    if found is None:
        found = plain(whole)
        if len(key) <= _LONGEST_KEPT:
            _read.put(key, found)
    return found


def write_shared(struct: struct_pb2.Struct, content: Mapping[str, Plain]) -> None:
    """Add `content` to `struct` as `write` does, copying the blocks and lists that were written before."""
    fields = struct.fields
    for key, item in content.items():
        if type(item) is str:
            fields[key].string_value = item
        else:
            fields[key].CopyFrom(_value(item))


def _value(item: Plain) -> struct_pb2.Value:
    key = marshal.dumps(item, _WITHOUT_REFERENCES)
    found = _written.get(key)
    if found is None:
        found = struct_pb2.Value()
        _write_value(found, item)
        if len(key) <= _LONGEST_KEPT:
            _written.put(key, found)
    return found


def write(struct: struct_pb2.Struct, content: Mapping[str, Plain]) -> None:
    """Add `content` to `struct`; a third of the cost of Struct.update."""
    fields = struct.fields
    for key, item in content.items():
        if type(item) is str:
            fields[key].string_value = item
        else:
            _write_value(fields[key], item)


def _write_value(value: struct_pb2.Value, item: Plain) -> None:
    if isinstance(item, str):
        value.string_value = item
    elif isinstance(item, dict):
        value.struct_value.SetInParent()
        write(value.struct_value, item)
    elif isinstance(item, bool):
        value.bool_value = item
    elif isinstance(item, (int, float)):
        value.number_value = item
    elif isinstance(item, (list, tuple)):
        value.list_value.SetInParent()
        add = value.list_value.values.add
        for entry in item:
            _write_value(add(), entry)
    elif item is None:
        value.null_value = struct_pb2.NULL_VALUE
    else:
        raise TypeError(f"a manifest cannot hold a {type(item).__name__}")
