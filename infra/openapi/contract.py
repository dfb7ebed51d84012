"""An OpenAPI document's schemas, by which values are judged."""

import re
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker

FORMATS = FormatChecker(formats=["date", "uuid"])


@FORMATS.checks("date-time", raises=ValueError)
def is_date_time(value):
    """RFC 3339 in UTC, as the programs write it."""
    if not isinstance(value, str):
        return True
    datetime.fromisoformat(value.replace("Z", "+00:00"))
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", value) is not None


class Contract:
    def __init__(self, document):
        self.document = document

    def operation(self, route):
        return self.document["paths"][route.pattern][route.method.lower()]

    def resolved(self, part):
        """What a reference to a component stands for."""
        while "$ref" in part:
            _, _, kind, name = part["$ref"].split("/")
            part = self.document["components"][kind][name]
        return part

    def problems(self, schema, value):
        """Why a value does not fit a schema; nothing where it does."""
        rooted = schema | {"components": self.document["components"]}
        validator = Draft202012Validator(rooted, format_checker=FORMATS)
        return [f"{e.json_path}: {e.message}"[:300] for e in validator.iter_errors(value)]

    def closed(self, schema):
        """The schema without room for members that it does not name."""
        schema = self.resolved(schema)
        if "oneOf" in schema:
            return {"oneOf": [self.closed(part) for part in schema["oneOf"]]}
        made = dict(schema)
        if "properties" in schema:
            made["properties"] = {n: self.closed(p) for n, p in schema["properties"].items()}
            made.setdefault("additionalProperties", False)
        if "items" in schema:
            made["items"] = self.closed(schema["items"])
        return made
