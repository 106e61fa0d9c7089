"""Check a document against a JSON schema, with error messages that name the remedy."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from cascadeforest.data.addresses import without_passwords
from cascadeforest.data.errors import ConfigError
from cascadeforest.data.files import read_yaml

if TYPE_CHECKING:
    from jsonschema import ValidationError

MAX_REPORTED = 5  # one slip can break many rules; the first few name it


def validate(document: object, schema: dict, place: str | Path) -> None:
    """Check a document read from YAML or JSON.

    Parameters
    ----------
    document : object
        What `read_yaml` returned.
    schema : dict
        A JSON schema, draft 2020-12.
    place : str or Path
        The file that the document came from, for the message.

    Raises
    ------
    ConfigError
        Names the file and, per fault, key, value and what is allowed.
    """
    from jsonschema import Draft202012Validator

    check_keys(document, place)
    faults = sorted(
        Draft202012Validator(schema).iter_errors(document), key=lambda error: [str(key) for key in error.absolute_path]
    )
    sentences = list(dict.fromkeys(_sentence(fault) for fault in faults))  # a rule of `then` may repeat a plain one
    if sentences:
        hidden = len(sentences) - MAX_REPORTED
        tail = f" ({hidden} more)" if hidden > 0 else ""
        raise ConfigError(f"{place}: {' '.join(sentences[:MAX_REPORTED])}{tail}")


def check_keys(document: object, place: str | Path, path: tuple[str | int, ...] = ()) -> None:
    """Raise an error for keys that YAML did not read as text: an unquoted ``no`` is False, an unquoted ``1`` a number.

    Raises
    ------
    ConfigError
        Names the file, the key and the remedy (quotes).
    """
    if isinstance(document, dict):
        for key, value in document.items():
            if not isinstance(key, str):
                where = f"under {dotted(path)}" if path else "at the top"
                raise ConfigError(f"{place}: the key {key!r} {where} is not text. Put it in quotes.")
            check_keys(value, place, (*path, key))
    elif isinstance(document, list):
        for position, value in enumerate(document):
            check_keys(value, place, (*path, position))


def read_schema(path: str | Path) -> dict:
    """Read a schema file and check that it is a valid JSON schema.

    Raises
    ------
    ConfigError
        If the file is missing, malformed, or no JSON schema.
    """
    from jsonschema import Draft202012Validator, SchemaError

    schema = read_yaml(path)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigError(
            f"{path}: not a valid JSON schema at {dotted(error.absolute_path)}: {error.message}."
        ) from error
    return schema


def dotted(path: Iterable[str | int]) -> str:
    """Return the path of a key as a reader writes it: ``forms.official.files[0].sha256``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "the document"


def _sentence(fault: "ValidationError") -> str:
    """One sentence for one fault: key, value, what is allowed."""
    key, value, rule = dotted(fault.absolute_path), _shown(fault.instance), fault.validator_value
    match fault.validator:
        case "additionalProperties":
            allowed = sorted(fault.schema.get("properties", {}))
            return " ".join(
                _unknown(name, fault.absolute_path, allowed) for name in fault.instance if name not in allowed
            )
        case "required":
            missing = [name for name in rule if name not in fault.instance]
            names = ", ".join(dotted([*fault.absolute_path, name]) for name in missing)
            return f"{names} is missing; add it."
        case "enum":
            return f"{key} is {value}; choose one of {', '.join(str(choice) for choice in rule)}."
        case "const":
            return f"{key} is {value}; only {_shown(rule)} is possible here."
        case "type":
            return f"{key} is {value}; it must be {_type_words(rule)}."
        case "minimum":
            return f"{key} is {value}; it must be at least {rule}."
        case "maximum":
            return f"{key} is {value}; it must be at most {rule}."
        case "exclusiveMinimum":
            return f"{key} is {value}; it must be greater than {rule}."
        case "exclusiveMaximum":
            return f"{key} is {value}; it must be less than {rule}."
        case "minItems" | "minProperties" | "minLength":
            return f"{key} is {value}; it needs at least {rule} {'entry' if rule == 1 else 'entries'}."
        case "uniqueItems":
            return f"{key} has an entry twice; keep one."
        case "not" if rule == {}:  # nothing satisfies it: a key that this kind of document does not have
            return f"{key} does not belong into a file of this kind; remove it."
    # pattern, anyOf and the like: the description says it better than the rule
    description = fault.schema.get("description", "") if isinstance(fault.schema, dict) else ""
    expectation = f"; it must be: {description}" if description else f" ({without_passwords(fault.message)})"
    return f"{key} is {value}{expectation}".rstrip(".") + "."


def _unknown(name: str, path: Iterable[str | int], allowed: list[str]) -> str:
    """Sentence about an unknown key, with the likely spelling where there is one."""
    near = get_close_matches(name, allowed, n=1)
    remedy = f"did you mean {near[0]}?" if near else f"allowed are {', '.join(allowed)}."
    return f"{dotted([*path, name])} is not a known key; {remedy}"


def _type_words(rule: str | list[str]) -> str:
    words = {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
        "object": "a mapping of keys to values",
        "null": "null",
    }
    return " or ".join(words[name] for name in ([rule] if isinstance(rule, str) else rule))


def _shown(value: object) -> str:
    """A value for a message: short, on one line, and without passwords."""
    text = without_passwords(repr(value))
    return text if len(text) <= 80 else f"{text[:77]}..."
