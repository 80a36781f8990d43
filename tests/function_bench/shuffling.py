"""Writes a request as Go's protobuf does: the same content, each map in an order of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

    from crossplane.function.proto.v1 import run_function_pb2 as fnv1
    from google.protobuf import struct_pb2


def shuffled(req: fnv1.RunFunctionRequest, chance: random.Random) -> bytes:
    """Serialize a request that has no more than a tag, an observed state and required resources."""
    resources = [
        _entry(key, _block(1, _struct(found.resource, chance)))
        for key, found in req.observed.resources.items()
    ]
    required = [
        _entry(key, b"".join(_block(1, _block(1, _struct(i.resource, chance))) for i in found.items))
        for key, found in req.required_resources.items()
    ]
    chance.shuffle(resources)
    chance.shuffle(required)
    composite = _block(1, _block(1, _struct(req.observed.composite.resource, chance)))
    observed = composite + b"".join(_block(2, entry) for entry in resources)
    return (
        _block(1, req.meta.SerializeToString())
        + _block(2, observed)
        + b"".join(_block(8, entry) for entry in required)
    )


def _struct(struct: struct_pb2.Struct, chance: random.Random) -> bytes:
    entries = [_block(1, _entry(key, _value(value, chance))) for key, value in struct.fields.items()]
    chance.shuffle(entries)
    return b"".join(entries)


def _value(value: struct_pb2.Value, chance: random.Random) -> bytes:
    match value.WhichOneof("kind"):
        case "struct_value":
            return _block(5, _struct(value.struct_value, chance))
        case "list_value":
            return _block(6, b"".join(_block(1, _value(v, chance)) for v in value.list_value.values))
    return value.SerializeToString()


def _entry(key: str, value: bytes) -> bytes:
    return _block(1, key.encode()) + _block(2, value)


def _block(number: int, content: bytes) -> bytes:
    """Return a length-delimited field."""
    size, length = len(content), bytearray()
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content
