"""The request as this function reads it: a RunFunctionRequest, parsed no further than needed.

Most of them are lists that nobody reads, managed fields above all, and to parse those is most of what parsing
costs. So a list is declared as the bytes that it stands in the message as, and is parsed when somebody asks
for it (`structs.entries`). What earlier steps of the pipeline desire, and the context, are only passed on and
stay bytes too. Fields that are declared nowhere here are not read: the parser skips them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PACKAGE = "function.wire"
_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "string": _Field.TYPE_STRING,
}

# By message: the number, the type and the name of each field, numbers and names as in run_function.proto and
# struct.proto. A map has text keys. The fields of `Value` exclude one another.
_SCHEMA: dict[str, tuple[tuple[int, str, str], ...]] = {
    "Request": (
        (1, "Meta", "meta"),
        (2, "State", "observed"),
        (3, "bytes", "desired"),
        (4, "Struct", "input"),
        (5, "bytes", "context"),
        (8, "map Resources", "required_resources"),
    ),
    "Meta": ((1, "string", "tag"),),
    "State": ((1, "Resource", "composite"), (2, "map Resource", "resources")),
    "Resource": ((1, "Struct", "resource"),),
    "Resources": ((1, "repeated Resource", "items"),),
    "Struct": ((1, "map Value", "fields"),),
    "Value": (
        (1, "int32", "null_value"),
        (2, "double", "number_value"),
        (3, "string", "string_value"),
        (4, "bool", "bool_value"),
        (5, "Struct", "struct_value"),
        (6, "bytes", "list_value"),
    ),
    "List": ((1, "repeated Value", "values"),),
}
_EXCLUSIVE = "Value"


class Struct(Protocol):
    """A block; the SDK's own Struct is one too."""

    @property
    def fields(self) -> Mapping[str, Value]:
        """Its fields; to read one that is missing adds it, so ask first."""


class Value(Protocol):
    """Any JSON value. Of what it is not, it reads as the empty one; the SDK's own Value is one too."""

    string_value: str
    number_value: float
    bool_value: bool

    @property
    def struct_value(self) -> Struct:
        """The block that it is."""

    @property
    def list_value(self) -> Any:  # noqa: ANN401 -- bytes, or a ListValue of the SDK's; see `structs.entries`
        """The list that it is, not parsed."""

    def HasField(self, field_name: Any) -> bool:  # noqa: ANN401, N802 -- protobuf's
        """Whether it is of that kind."""

    def WhichOneof(self, oneof_group: Any) -> str | None:  # noqa: ANN401, N802 -- protobuf's
        """Return the field that is set."""

    def SerializeToString(self, *, deterministic: bool = False) -> bytes:  # noqa: N802 -- protobuf's
        """Return its bytes."""


class Resource(Protocol):
    """One object of the API."""

    @property
    def resource(self) -> Struct:
        """The object."""


class Resources(Protocol):
    """What a lookup found."""

    @property
    def items(self) -> Sequence[Resource]:
        """The objects, in Crossplane's order."""


class State(Protocol):
    """A composite and what is composed for it, by key."""

    composite: Resource
    resources: Mapping[str, Resource]


class Meta(Protocol):
    """What Crossplane says of the request itself."""

    tag: str


class Request(Protocol):
    """One call; `desired` and `context` are a State and a Struct of the SDK's that are not parsed."""

    meta: Meta
    observed: State
    desired: bytes
    input: Struct
    context: bytes
    required_resources: Mapping[str, Resources]


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="function/wire.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        if name == _EXCLUSIVE:
            message.oneof_decl.add(name="kind")
        for number, kind, field in fields:
            _declare(message, number, kind, field)
    return file


def _declare(message: descriptor_pb2.DescriptorProto, number: int, kind: str, name: str) -> None:
    how, _, of = kind.rpartition(" ")
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if message.oneof_decl:
        field.oneof_index = 0
    if of in _SCALARS:
        field.type = _SCALARS[of]
        return
    field.type, field.type_name = _Field.TYPE_MESSAGE, f".{_PACKAGE}.{of}"
    if how:
        field.label = _Field.LABEL_REPEATED
    if how == "map":
        entry = message.nested_type.add(name="".join(part.title() for part in name.split("_")) + "Entry")
        entry.options.map_entry = True
        _declare(entry, 1, "string", "key")
        _declare(entry, 2, of, "value")
        field.type_name = f".{_PACKAGE}.{message.name}.{entry.name}"


def _parsers() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_file().SerializeToString())
    messages = pool.FindFileByName("function/wire.proto").message_types_by_name
    return {name: message_factory.GetMessageClass(found) for name, found in messages.items()}


_PARSERS = _parsers()
_REQUEST, _STATE, _LIST = (_PARSERS[name].FromString for name in ("Request", "State", "List"))


def request(raw: bytes) -> Request:
    """Parse a serialized RunFunctionRequest.

    Raises:
        DecodeError: it is none.

    """
    return cast("Request", _REQUEST(raw))


def state(raw: bytes) -> State:
    """Parse a serialized State, such as `Request.desired`."""
    return cast("State", _STATE(raw))


def values(raw: bytes) -> Sequence[Value]:
    """Parse a serialized ListValue, such as `Value.list_value`."""
    return cast("Sequence[Value]", _LIST(raw).values)
