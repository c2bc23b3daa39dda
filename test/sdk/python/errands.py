"""The tools of the loop that the mocked vendors request, and the expected end of the loop."""

import base64
import json
import os
import urllib.request

TEMPERATURES = {"Paris": "21", "Rome": "17"}
LOOP = "Compare Paris and Rome. [tool loop]"
# The vendor repeats every result next to its call, so that a lost or mixed-up result is visible.
SUMMARY = (
    'get_temperature {"city":"Paris"} gave 21. get_temperature {"city":"Rome"} gave 17. '
    'add {"a":21,"b":17} gave 38. clock {} gave 12:00.'
)
STEPS = [["get_temperature", "get_temperature"], ["add", "clock"]]
GREETING = "Grüße, 日本語, 🚀."
COUNT = "Count. [count]"
# One red pixel.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SEEN = f"I see image/png of {len(PIXEL)} bytes."
TOOLS = {
    "get_temperature": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The city"}},
        "required": ["city"],
    },
    "add": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
    "clock": {"type": "object", "properties": {}},
}
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def perform(name, arguments):
    """Returns the result of a tool as text."""
    if name == "get_temperature":
        return TEMPERATURES[arguments["city"]]
    if name == "add":
        return str(arguments["a"] + arguments["b"])
    assert arguments == {}, f"clock was called with {arguments}"
    return "12:00"


def is_person(text):
    person = json.loads(text)
    assert sorted(person) == ["age", "name"] and isinstance(person["age"], int), person


def calls():
    """Returns the requests that the mocked vendor received."""
    with urllib.request.urlopen(f"{os.environ['VENDOR_URL']}/_calls", timeout=30) as answer:
        return json.load(answer)
