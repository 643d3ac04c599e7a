"""The packet of a step: its bytes where it is sent, and how it compares with one that came."""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

from ..codec.encode import Raw, encode
from ..common.bad_text import BadText
from ..common.words import counted
from ..spec.declare import MISSING, Field, Packet, Property
from ..spec.packets import Connect, Subscription, Will
from ..spec.properties import USER_PROPERTY, value_of
from ..spec.versions import Version
from ..wire.types import PAIR, STRING, VARIABLE, WireType
from .lex import ScriptWord
from .names import SHORT_NAMES
from .steps import AbsentProperty, GivenField, GivenFilter, GivenProperty, PacketStep, Sending
from .values import Bindings, TextTemplate, Variable, number_matches, number_value

_DEFAULTS: dict[str, dict[str, Any]] = {
    "PUBLISH": {"topic": "a", "payload": b"x"},
    "CONNECT": {"client_id": "c"},
    "SUBSCRIBE": {"subscriptions": (Subscription(filter="a"),)},
    "UNSUBSCRIBE": {"filters": ("a",)},
    "SUBACK": {"reason_codes": (0,)},
    "UNSUBACK": {"reason_codes": (0,)},
}
"""What a packet holds that its line does not name, besides the defaults of the specification."""


def defaults(packet: type[Packet]) -> dict[str, Any]:
    """Return the values of fields that a line need not name."""
    return dict(_DEFAULTS.get(packet.name, {}))


class StepContext(NamedTuple):
    """What the bytes of a step depend on besides its words."""

    version: Version
    bindings: MutableMapping[str, int | bytes]
    more: Mapping[str, Any]
    """Values of fields that the step does not name."""
    any_version: bool = False
    """Whether the script is for several versions, so that words for what this one does not have are left out."""


def packet_bytes(step: PacketStep, context: StepContext) -> bytes:
    """Return the bytes that a step sends, as its `sending` says, once and in one piece.

    Raises BadText with the place of the step for a packet that lacks a field, a value that does not fit its field, and
    a variable without a value.
    """
    data = step.raw if step.packet is None else _encoded(step, step.packet, context)
    cut = step.sending.cut
    if cut and cut >= len(data):
        place = step.sending.cut_word or step.word
        raise place.error(f"nothing is left of a packet of {counted(len(data), 'byte')}")
    return data[: len(data) - cut]


def _encoded(step: PacketStep, cls: type[Packet], context: StepContext) -> bytes:
    values, version = _values(step, cls, context), context.version
    for key, field in cls.fields.items():
        # A flag that is given without the field that it announces is meant so; QoS without a Packet Identifier is not.
        needed = field.default is MISSING or (values.get(field.when or "") and not cls.fields[field.when or ""].derived)
        if needed and field.exists_in(version) and values.get(key) is None:
            raise step.word.error(f"{cls.name} needs {_word(key)}")
    try:
        return encode(cls(**values), version, remaining_length=_remaining(cls(**values), version, step.sending))
    except ValueError as error:
        raise _culprit(step.given, step.word, context).error(str(error)) from None


def _culprit(given: Iterable[GivenField | GivenProperty], otherwise: ScriptWord, context: StepContext) -> ScriptWord:
    """Return the word whose value does not fit its field or property; another where each fits."""
    for each in given:
        try:
            _check_fits(each, context.bindings)
        except ValueError:
            return each.word
    return otherwise


def _check_fits(each: GivenField | GivenProperty, bindings: Bindings) -> None:
    """Raise ValueError for a value that its field or property cannot hold."""
    if isinstance(each, GivenProperty):
        each.row.type.write(_property(each, bindings).value)
        return
    field = each.field
    value: Any = None if field.shape == "group" else _value(field, each.value, bindings)
    if field.mask and int(value) << field.shift & ~field.mask:
        raise ValueError(field.label)
    if field.shape == "list":
        for item in value:
            (STRING if field.item is Subscription else field.item).write(getattr(item, "filter", item))
    elif field.shape == "value" and field.type:
        field.type.write(value)


def _word(key: str) -> str:
    short = SHORT_NAMES.get(key)
    return f"{short}= ({key})" if short else f"{key}="


def _remaining(packet: Packet, version: Version, sending: Sending) -> int | Raw | None:
    if not sending.overlong and sending.length is None:
        return None
    plain = encode(packet, version)
    size = sending.length
    if size is None:
        size = len(plain) - next(at for at in range(1, 5) if plain[at] < 0x80) - 1
    written = VARIABLE.write(size)
    return Raw(written[:-1] + bytes((written[-1] | 0x80, 0))) if sending.overlong else Raw(written)


def _values(step: PacketStep, cls: type[Packet], context: StepContext) -> dict[str, Any]:
    bindings = context.bindings
    values: dict[str, Any] = {**defaults(cls), **context.more}
    own: list[Property] = []
    will: dict[str, Any] = {}
    will_properties: list[Property] = []
    for each in step.given:
        if not _applies(each, cls, context):
            continue
        try:
            if isinstance(each, GivenProperty):
                (will_properties if each.of_will else own).append(_property(each, bindings))
            elif each.field.shape == "group":
                will.setdefault("topic", "w")
            else:
                (will if each.of_will else values)[each.field.key] = _value(each.field, each.value, bindings)
        except ValueError as error:
            raise each.word.error(str(error)) from None
    if will or will_properties:
        values["will"] = Will(**{"topic": "w", **will, "properties": tuple(will_properties)})
    if own:
        values["properties"] = tuple(own)
        reason = cls.fields.get("reason_code")
        if reason and reason.tail and values.get("reason_code") is None:
            values["reason_code"] = 0
    return {key: value for key, value in values.items() if cls.fields[key].exists_in(context.version)}


def _applies(each: GivenField | GivenProperty, cls: type[Packet], context: StepContext) -> bool:
    """Whether the version has what a word is about; raises BadText where it has not, and the script is for it alone."""
    version = context.version
    if isinstance(each, GivenProperty):
        applies, message = version >= Version.V5, f"MQTT {version.label} has no properties"
    else:
        applies = each.field.exists_in(version)
        message = f"{cls.name} has no {each.field.label} in MQTT {version.label}"
    if not (applies or context.any_version):
        raise each.word.error(message)
    return applies


def _value(field: Field, value: Any, bindings: Bindings) -> Any:
    if field.shape in ("list", "properties"):
        return tuple(_item(each, bindings) for each in value)
    if field.type is None or isinstance(value, int | Variable):
        resolved = number_value(value, bindings)
        if field.single:
            if resolved not in (0, 1):
                raise ValueError(f"{resolved} does not fit {field.label} ({field.legal_bits})")
            return bool(resolved)
        return resolved
    return _typed(field.type, value, bindings)


def _item(value: Any, bindings: Bindings) -> Any:
    if isinstance(value, GivenFilter):
        return Subscription(filter=_text(value.filter.value(bindings))).replace(**value.options)
    if isinstance(value, TextTemplate):
        return _text(value.value(bindings))
    return number_value(value, bindings)


def _typed(type: WireType, value: Any, bindings: Bindings) -> Any:
    if isinstance(value, int | Variable):
        return number_value(value, bindings)
    if type is PAIR:
        return tuple(_text(part.value(bindings)) for part in value)
    data = value.value(bindings)
    return _text(data) if type is STRING else data


def _property(each: GivenProperty, bindings: Bindings) -> Property:
    return Property(each.row.id, _typed(each.row.type, each.value, bindings))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# comparing


class Mismatch(NamedTuple):
    """A field or property of a packet that is not what a step says."""

    given: GivenField | GivenProperty | AbsentProperty
    """What the step says."""
    actual: Any
    """The value in the packet that came; None if it is absent."""

    @property
    def key(self) -> str:
        """Name of the field or property."""
        return self.given.field.key if isinstance(self.given, GivenField) else self.given.row.key


def mismatches(step: PacketStep, packet: Packet, context: StepContext) -> list[Mismatch]:
    """Return what a packet has otherwise than a step of its type says; variables take values if there is nothing.

    A Reason Code that was left out is 0. Properties may come in any order, but User Properties in that of the step;
    others may come between them. Raises BadText for words that the version does not have, as `packet_bytes` does.
    """
    trial = dict(context.bindings)
    step = step._replace(given=tuple(each for each in step.given if _applies(each, type(packet), context)))
    fields = (each for each in step.given if isinstance(each, GivenField))
    wrong = [found for each in fields if (found := _field_wrong(each, packet, trial))]
    wrong += _properties_wrong(step, packet.__dict__.get("properties"), trial, of_will=False)
    if isinstance(packet, Connect):
        wrong += _properties_wrong(step, packet.will.properties if packet.will else None, trial, of_will=True)
    held = packet.__dict__.get("properties")
    wrong += [Mismatch(each, value) for each in step.absent if (value := value_of(held, each.row)) is not None]
    if not wrong:
        context.bindings.update(trial)
    return wrong


def _field_wrong(each: GivenField, packet: Packet, bindings: MutableMapping[str, int | bytes]) -> Mismatch | None:
    owner = packet.__dict__.get("will") if each.of_will else packet
    actual = getattr(owner, each.field.key, None)
    if each.field.key == "reason_code" and actual is None:
        actual = 0
    if each.field.shape == "group":
        same = actual is not None
    else:
        same = actual is not None and _same(each.field, each.value, actual, bindings)
    return None if same else Mismatch(each, actual)


def _same(field: Field, value: Any, actual: Any, bindings: MutableMapping[str, int | bytes]) -> bool:
    if field.shape == "list":
        return len(value) == len(actual) and all(
            _item_same(each, one, bindings) for each, one in zip(value, actual, strict=True)
        )
    return _value_same(value, actual, bindings)


def _item_same(value: Any, actual: Any, bindings: MutableMapping[str, int | bytes]) -> bool:
    if isinstance(value, GivenFilter):
        options = all(getattr(actual, key) == option for key, option in value.options.items())
        return options and _value_same(value.filter, actual.filter, bindings)
    return _value_same(value, actual, bindings)


def _value_same(value: Any, actual: Any, bindings: MutableMapping[str, int | bytes]) -> bool:
    if isinstance(value, TextTemplate):
        data = actual.encode("utf-8", "surrogateescape") if isinstance(actual, str) else actual
        return value.matches(data, bindings)
    if isinstance(value, int | Variable):
        return number_matches(value, int(actual), bindings)
    return all(_value_same(part, one, bindings) for part, one in zip(value, actual, strict=True))


def _properties_wrong(
    step: PacketStep, actual: tuple[Property, ...] | None, bindings: MutableMapping[str, int | bytes], *, of_will: bool
) -> list[Mismatch]:
    left = list(actual or ())
    wrong = []
    for each in step.given:
        if not isinstance(each, GivenProperty) or each.of_will != of_will:
            continue
        for at, one in enumerate(left):
            if one.id != each.row.id:
                continue
            # What a candidate that does not fit has bound is forgotten.
            trial = dict(bindings)
            if _value_same(each.value, one.value, trial):
                bindings.update(trial)
                # User Properties that were passed over cannot come later.
                left[: at + 1] = [other for other in left[:at] if not other.id == one.id == USER_PROPERTY.id]
                break
        else:
            held = next((one.value for one in left if one.id == each.row.id), None)
            wrong.append(Mismatch(each, held))
    return wrong


def corrected(packet: Packet, wrong: Iterable[Mismatch], context: StepContext) -> bytes:
    """Return the bytes of a packet changed to what a step says, and nothing else changed.

    Empty where it cannot be written, or a variable has no value.
    """
    try:
        return changed(packet, [each.given for each in wrong], context)
    except BadText:
        return b""


def changed(
    packet: Packet, given: Sequence[GivenField | GivenProperty | AbsentProperty], context: StepContext
) -> bytes:
    """Return the bytes of a packet in which words give other values, and nothing else is changed.

    Lengths and the flags that announce a field follow; a Packet Identifier goes with QoS 0. A property takes the place
    of the first of its kind. Raises BadText at the word for what the packet or the version does not have, a value that
    does not fit its field, and a variable without a value.
    """
    will: dict[str, Any] | None = None
    own: dict[str, Any] = {}
    held = packet.__dict__.get("will") or Will(topic="w")
    for each in given:
        if isinstance(each, AbsentProperty):
            before = own.get("properties", packet.__dict__.get("properties")) or ()
            own["properties"] = tuple(one for one in before if one.id != each.row.id)
            continue
        if each.of_will or (isinstance(each, GivenField) and each.field.shape == "group"):
            will = {} if will is None else will
        try:
            owner, values = (held, will) if each.of_will and will is not None else (packet, own)
            if isinstance(each, GivenProperty):
                before = values.get("properties", owner.__dict__.get("properties")) or ()
                values["properties"] = _replaced(before, _property(each, context.bindings))
            elif each.field.shape != "group":
                values[each.field.key] = _value(each.field, each.value, context.bindings)
        except ValueError as error:
            raise each.word.error(str(error)) from None
    if will is not None:
        own["will"] = held.replace(**will)
    announcing = {field.when: None for key in own if (field := packet.fields[key]).when and field.when != "qos"}
    made = packet.replace(**{**announcing, **own})
    _complete(made, given[0].word)
    try:
        return encode(made, context.version)
    except ValueError as error:
        words = [each for each in given if not isinstance(each, AbsentProperty)]
        raise _culprit(words, given[0].word, context).error(str(error)) from None


def _complete(packet: Packet, word: ScriptWord) -> None:
    """Fill what a packet with other values needs, and empty what it must not have; raises BadText at the word."""
    for key, field in packet.fields.items():
        flag = packet.fields.get(field.when or "")
        if flag and not flag.derived and not getattr(packet, flag.key):
            setattr(packet, key, None)
        elif flag and not flag.derived and getattr(packet, key) is None:
            raise word.error(f"{packet.name} needs {_word(key)}")
    reason = packet.fields.get("reason_code")
    if reason and reason.tail and packet.__dict__.get("properties") and packet.__dict__["reason_code"] is None:
        packet.__dict__["reason_code"] = 0


def _replaced(held: tuple[Property, ...], wanted: Property) -> tuple[Property, ...]:
    at = next((at for at, each in enumerate(held) if each.id == wanted.id), len(held))
    return (*held[:at], wanted, *held[at + 1 :])
