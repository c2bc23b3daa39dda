"""Write the tables of member names that the mocks check, from the request types of the vendors' own Python packages.

    python -m venv /tmp/sdks && /tmp/sdks/bin/pip install openai anthropic google-genai
    /tmp/sdks/bin/python test/vendors/shapes/generate.py

The syntax of the tables is described in shape.go. The packages define types, not limits: ranges, lengths and rules between
members are in the tables written by hand and in the rules of each mock.
"""

import ast
import importlib
import importlib.metadata
import inspect
import pathlib
import types
import typing

import typing_extensions

HERE = pathlib.Path(__file__).parent
TAGS = ("type", "role")
DEPTH = 3  # more deeply nested objects, such as those of tools that the vendor runs, are not checked

# The vendors accept requests without these members, which their types require: agents leave them out.
OPTIONAL = {
    "ResponseOutputMessageParam": ("id", "status"),
    "ResponseOutputTextParam": ("annotations",),
    "ResponseReasoningItemParam": ("id",),
    "FunctionToolParam": ("parameters", "strict"),
    "ResponseInputImageParam": ("detail",),
}

# Members of version 2023-06-01 of the Messages API, which the current package no longer has.
SAMPLING = ["temperature number?", "top_k int?", "top_p number?"]


class Table:
    """The shapes that are reachable from one request type."""

    def __init__(self):
        self.names, self.unions, self.queue = {}, {}, []
        self.lines = {}  # by name of the shape

    def struct(self, cls, depth):
        if cls not in self.names:
            if depth > DEPTH:
                return "object"
            name, n = cls.__name__, 2
            while name in self.names.values():
                name, n = f"{cls.__name__}{n}", n + 1
            self.names[cls] = name
            self.queue.append((cls, depth))
        return self.names[cls]

    def expand(self, cls, depth, extra=()):
        self.lines[self.names[cls]] = lines = [f"struct {self.names[cls]}"]
        self.depth = depth + 1
        hints = typing_extensions.get_type_hints(cls, include_extras=True)
        for member, hint in sorted(hints.items()):
            hint, required = unwrap(hint, member in cls.__required_keys__)
            required = required and member not in OPTIONAL.get(cls.__name__, ())
            lines.append(f"  {member}{'!' if required else ''} {self.type(hint)}")
        if cls.__name__ == "ChatCompletionAssistantMessageParam":  # clients send back the message that they received
            lines.insert(1, "  annotations [{any}]?")
        lines.extend(f"  {line}" for line in extra)

    def walk(self, root, extra):
        self.names[root] = "request"
        self.expand(root, 0, ["stream bool?", *extra])
        while self.queue:
            self.expand(*self.queue.pop(0))

    def type(self, hint):
        words, nullable = [], False
        for option in options(hint):
            if option is type(None):
                nullable = True
            elif not (isinstance(option, type) and hasattr(option, "model_fields")):  # skip response types, which the package also accepts for convenience
                words.append(option)
        dicts = [o for o in words if typing_extensions.is_typeddict(o)]
        rest = [o for o in words if not typing_extensions.is_typeddict(o)]
        names = []
        if dicts:
            names.append(self.union(dicts))
        literals = [v for o in rest if typing.get_origin(o) in (typing.Literal, typing_extensions.Literal) for v in typing.get_args(o)]
        plain = [self.plain(o) for o in rest if typing.get_origin(o) not in (typing.Literal, typing_extensions.Literal)]
        if all(isinstance(v, str) for v in literals) and literals and "string" not in plain:
            names.append("=" + ",".join(dict.fromkeys(literals)))
        elif literals and isinstance(literals[0], bool):
            names.append("bool")
        elif literals and isinstance(literals[0], int):
            names.append("int")
        names.extend(p for p in dict.fromkeys(plain))
        if "any" in names:
            return "any"
        return "|".join(names) + ("?" if nullable else "")

    def plain(self, hint):
        if hint is str:
            return "string"
        if hint is bool:
            return "bool"
        if hint is int:
            return "int"
        if hint is float:
            return "number"
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is dict or (origin is not None and getattr(origin, "__name__", "") == "Mapping"):
            return "{" + self.type(args[1]) + "}"
        if origin is not None and args:
            return "[" + self.type(args[0]) + "]"
        return "any"

    def union(self, dicts):
        """Returns one struct, a union whose members are distinguished by a tag, or a list of alternatives."""
        if len(dicts) == 1:
            return self.struct(dicts[0], self.depth)
        for tag in TAGS:
            rows = {}
            for cls in dicts:
                for value in tag_values(cls, tag):
                    rows.setdefault(value, []).append(cls)
            if rows and (set(rows) != {None}):
                break
        else:
            return "|".join(dict.fromkeys(self.struct(cls, self.depth) for cls in dicts))
        if None in rows and len(rows) == 1:
            return "|".join(dict.fromkeys(self.struct(cls, self.depth) for cls in dicts))
        key = (frozenset(dicts), self.depth > DEPTH)
        if key not in self.unions:
            name = f"union{len(self.unions) + 1}"
            self.unions[key] = name
            self.lines[name] = lines = [f"union {name} {tag}"]
            for value, classes in sorted(rows.items(), key=lambda row: row[0] or ""):
                lines.append(f"  {value or '_'} " + "|".join(dict.fromkeys(self.struct(cls, self.depth) for cls in classes)))
        return self.unions[key]

    def write(self, file, header):
        text = "".join(f"# {line}\n" for line in header)
        text += "\n".join("\n".join(lines) for lines in self.lines.values()) + "\n"
        (HERE / file).write_text(text)


def unwrap(hint, required):
    while typing.get_origin(hint) in (typing_extensions.Required, typing_extensions.NotRequired, typing.Annotated):
        if typing.get_origin(hint) is typing_extensions.Required:
            required = True
        hint = typing.get_args(hint)[0]
    return hint, required


def options(hint):
    hint, _ = unwrap(hint, False)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [o for arg in typing.get_args(hint) for o in options(arg)]
    return [hint]


def tag_values(cls, tag):
    """The values of a tag, None where the member may be missing."""
    hints = typing_extensions.get_type_hints(cls, include_extras=True)
    if tag not in hints:
        return [None]
    hint, required = unwrap(hints[tag], tag in cls.__required_keys__)
    values = [v for o in options(hint) if typing.get_origin(o) in (typing.Literal, typing_extensions.Literal) for v in typing.get_args(o)]
    return values + ([] if required and values else [None])


def header(package, what):
    return [
        f"{what}, from the types of the Python package {package} {importlib.metadata.version(package)}.",
        "Generated by generate.py, which says how. Do not edit.",
    ]


def typed_dict(module, name, package, what, file, extra=()):
    table = Table()
    table.walk(getattr(importlib.import_module(module), name), extra)
    table.write(file, header(package, what))


# Types of the Gemini API that the package sends as they are, without a function that converts them.
GEMINI = {
    "functionDeclarations": "[FunctionDeclaration]", "fileData": "FileData", "inlineData": "Blob", "functionResponse": "FunctionResponse",
    "responseSchema": "Schema", "thinkingConfig": "ThinkingConfig", "contents": "[Content]", "generationConfig": "GenerateContentConfig",
    "parameters": "Schema", "items": "Schema", "anyOf": "[Schema]", "properties": "{Schema}", "response": "any",
}


def gemini(file):
    """The Gemini package has one set of types for two APIs, so the members come from the functions that write requests for this
    one: each setv(to_object, ['name'], value) names a member, parent_object is the request."""
    source = inspect.getsource(importlib.import_module("google.genai.models"))
    members = {}
    for function in ast.parse(source).body:
        if not isinstance(function, ast.FunctionDef) or not function.name.endswith("_to_mldev"):
            continue
        shape = function.name[1 : -len("_to_mldev")]
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and getattr(call.func, "id", "") == "setv" and isinstance(call.args[1], ast.List)):
                continue
            if isinstance(call.args[1].elts[0], ast.Constant) and not call.args[1].elts[0].value.startswith("_"):
                owner = shape if call.args[0].id == "to_object" else "GenerateContentParameters"
                members.setdefault((shape, owner), {})[call.args[1].elts[0].value] = value_type(call.args[2])
    shapes = {"request": members[("GenerateContentParameters", "GenerateContentParameters")] | members[("GenerateContentConfig", "GenerateContentParameters")]}
    for name in ("GenerateContentConfig", "Content", "Part", "Tool", "ToolConfig", "FunctionCallingConfig", "FunctionCall", "SafetySetting", "GoogleSearch", "GoogleMaps", "ImageConfig"):
        shapes[name] = members[(name, name)]
    sdk = importlib.import_module("google.genai.types")
    for name in ("FunctionDeclaration", "FunctionResponse", "FileData", "Blob", "Schema", "ThinkingConfig"):
        shapes[name] = {f.alias or to_camel(n): "any" for n, f in getattr(sdk, name).model_fields.items()}
    shapes["Schema"].pop("defs", None)
    text = "".join(f"# {line}\n" for line in header("google-genai", "POST /v1beta/models/{model}:generateContent"))
    for name, rows in shapes.items():
        text += f"struct {name}\n"
        for member, kind in sorted(rows.items()):
            kind = GEMINI.get(member, kind) if kind == "any" else kind
            kind = kind if kind.strip("[]{}") in shapes else "any"
            text += f"  {member} {kind}\n"
    (HERE / file).write_text(text)


def value_type(value):
    """The shape of a value that another function converts; any for others."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "").endswith("_to_mldev"):
            name = node.func.id[1 : -len("_to_mldev")]
            return f"[{name}]" if isinstance(value, ast.ListComp) else name
    return "any"


def to_camel(name):
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def main():
    typed_dict("openai.types.responses.response_create_params", "ResponseCreateParamsBase", "openai", "POST /v1/responses", "openai-responses.txt")
    typed_dict("openai.types.chat.completion_create_params", "CompletionCreateParamsBase", "openai", "POST /v1/chat/completions", "openai-chat.txt")
    typed_dict("anthropic.types.message_create_params", "MessageCreateParamsBase", "anthropic", "POST /v1/messages", "anthropic-messages.txt", SAMPLING)
    gemini("gemini-generate.txt")


if __name__ == "__main__":
    main()
