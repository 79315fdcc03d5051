"""What every block shares: strict types, unknown keys kept aside, absence, conversion.

spec/formations-and-newer-manifest.md A0.
"""

from typing import Annotated, Any, ClassVar, NoReturn

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from murmur.manifest.quantities import BYTES, LARGEST, LIFETIME, SECONDS, parse_quantity

REFUSED = "murmur_refused"
REQUIRED = "murmur_required"


def refuse(reason: str, field: str = "", hint: str = "") -> NoReturn:
    """Ends the validation of a block (or of its `field`) with E-MAN-003 and that reason."""
    raise PydanticCustomError(REFUSED, "{reason}", {"reason": reason, "field": field, "hint": hint})


def require(field: str) -> NoReturn:
    """Ends the validation of a block with E-MAN-001: here `field` is required."""
    raise PydanticCustomError(REQUIRED, "{field} is required", {"field": field})


def _filled(value: str) -> str:
    if not value.strip():
        refuse("it is blank")
    return value


def _quantity(units: dict[str, int]) -> Any:
    def parse(value: object) -> int:
        try:
            number = parse_quantity(value, units)
        except ValueError as problem:
            refuse(f"it must be {problem}")
        if number < 1:
            refuse("it must be above 0")
        return number

    pattern = rf"^[0-9]+({'|'.join(units)})?$"
    return BeforeValidator(
        parse,
        json_schema_input_type=Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=pattern)],
    )


Text = Annotated[str, Strict()]
Filled = Annotated[
    str,
    Strict(),
    AfterValidator(_filled),
    WithJsonSchema({"type": "string", "pattern": r"\S"}),
]
Flag = Annotated[bool, Strict()]
Positive = Annotated[int, Strict(), Field(gt=0, le=LARGEST)]
Whole = Annotated[int, Strict(), Field(ge=0, le=LARGEST)]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
Seconds = Annotated[int, _quantity(SECONDS)]
Lifetime = Annotated[int, _quantity(LIFETIME)]
Bytes = Annotated[int, _quantity(BYTES)]
Texts = list[Text]


class Block(BaseModel):
    """One mapping of the manifest.

    Keys no field claims are kept in `model_extra`. A key without a value counts as absent, except
    those in `present_when_empty` (which then mean an empty block) and in `keeps_null`.
    `result_type` is the dataclass whose fields carry the same names.
    """

    model_config = ConfigDict(extra="allow", frozen=True, protected_namespaces=(), defer_build=True)

    result_type: ClassVar[type[Any]]
    present_when_empty: ClassVar[frozenset[str]] = frozenset()
    keeps_null: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = cls.known_keys()
        kept: dict[str, Any] = {}
        for key, value in data.items():
            if value is None and key in cls.present_when_empty:
                value = {}
            if value is not None or key in cls.keeps_null or key not in known:
                kept[str(key)] = value
        return kept

    @classmethod
    def known_keys(cls) -> dict[str, str]:
        """The block's keys as the manifest spells them, in order, each with its field's name."""
        return {field.alias or name: name for name, field in cls.model_fields.items()}

    def given(self) -> dict[str, Any]:
        """The fields the manifest sets, converted; defaults stand in `result_type` alone."""
        return {
            name: _converted(getattr(self, name))
            for name in type(self).model_fields
            if name in self.model_fields_set
        }

    def result(self) -> Any:
        """The block as its dataclass."""
        return self.result_type(**self.given())


def _converted(value: Any) -> Any:
    if isinstance(value, Block):
        return value.result()
    if isinstance(value, list):
        return tuple(_converted(item) for item in value)
    if isinstance(value, dict):
        return {
            key: _converted(item) if isinstance(item, Block) else item
            for key, item in value.items()
        }
    return value
