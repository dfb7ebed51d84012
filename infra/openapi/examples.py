"""Examples of requests and answers, taken from the fixtures."""


class Examples:
    def __init__(self, fixtures, routes, schemas):
        self.schemas = schemas
        self.by_route = {}
        for fixture in fixtures:
            route = fixture.route(routes)
            # The others are about how a request arrives.
            if route and fixture.is_short:
                self.by_route.setdefault(route.key, []).append(fixture)

    def of(self, route, status):
        """A few fixtures, those with the shortest names: they are about what is usual."""
        fitting = [f for f in self.by_route.get(route.key, []) if str(f.answer["status"]) == status]
        return sorted(fitting, key=lambda f: (len(f.name), f.name))[: 3 if status < "300" else 2]

    def requests(self, route, statuses):
        """Bodies of requests that are granted."""
        granted = [f for status in statuses if status < "300" for f in self.of(route, status)]
        return {f.name: {"value": f.json()} for f in granted if f.json() is not None}

    def answers(self, route, status, schema):
        """Bodies of answers with this status."""
        found = {}
        for fixture in self.of(route, status):
            if "body" in fixture.answer:
                value = self.filled(fixture.answer["body"], schema)
                if value not in [example["value"] for example in found.values()]:
                    found[fixture.name] = {"value": value}
        return found

    def filled(self, value, schema):
        """The value with its schema's own example in the place of what a fixture leaves open (`…`)."""
        schema = self.resolved(schema)
        if isinstance(value, str) and "…" in value:
            if "examples" not in schema and "const" not in schema:
                raise SystemExit(f"make-openapi: no example in the schema {schema} for {value}")
            return schema["const"] if "const" in schema else schema["examples"][0]
        if isinstance(value, list):
            return [self.filled(element, schema.get("items", {})) for element in value]
        if isinstance(value, dict):
            return {k: self.filled(v, self.member(schema, k)) for k, v in value.items()}
        return value

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].rpartition("/")[2]]
        return schema

    def member(self, schema, name):
        """The schema of a member, in whichever of the alternatives it is."""
        for part in [schema, *schema.get("allOf", []), *schema.get("oneOf", [])]:
            part = self.resolved(part)
            if name in part.get("properties", {}):
                return part["properties"][name]
        return schema.get("additionalProperties", {}) or {}
