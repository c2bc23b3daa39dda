"""Shared parts of the cases: clients, the list of cases, and requests to the test driver."""

import json
import os
import time
import traceback
import urllib.parse
import urllib.request

from openai import DefaultHttpxClient, OpenAI

NAME = os.environ["SDK_NAME"]  # suffix of the scripted provider's models, so that suites can run in parallel
SIMULATED = "sim-small"

cases = []


def case(name):
    """Registers a case under the name that the driver expects."""

    def register(function):
        cases.append((name, function))
        return function

    return register


def sim(**options):
    """Returns a client of the gateway that serves the simulator."""
    return OpenAI(base_url=os.environ["SIM_URL"], api_key=os.environ["SIM_KEY"], max_retries=0, **options)


def mock(key="MOCK_KEY", **options):
    """Returns a client of the gateway in front of the scripted provider."""
    options = {"max_retries": 0, "api_key": os.environ[key], **options}
    return OpenAI(base_url=os.environ["MOCK_URL"], **options)


def scripted(name):
    """Returns a model of the scripted provider that only this suite uses."""
    return f"{name}-{NAME}"


def user(text):
    return [{"role": "user", "content": text}]


class Counter:
    """An HTTP client that counts the requests it sends."""

    def __init__(self):
        self.sent = 0
        self.client = DefaultHttpxClient(event_hooks={"request": [self.count]})

    def count(self, _request):
        self.sent += 1


def control(path, **query):
    """Requests data from the driver: the requests that the provider received, or a log entry."""
    url = f"{os.environ['CONTROL_URL']}/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def equal(got, want, what="value"):
    assert got == want, f"{what} is {got!r}, want {want!r}"


def refused(kind, call):
    """Runs call, which must raise exactly this class, and returns the exception."""
    try:
        call()
    except Exception as error:  # the test checks the class
        assert type(error) is kind, f"raised {type(error).__name__}, want {kind.__name__}: {error}"
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def run():
    """Runs every case, or the cases listed in CASES, prints one line for each and returns the number of failures."""
    failed = 0
    wanted = os.environ.get("CASES", "").split(",")
    for name, function in cases:
        if wanted != [""] and name not in wanted:
            continue
        began = time.monotonic()
        try:
            function()
            print(f"ok {name} {time.monotonic() - began:.2f}s", flush=True)
        except Exception as error:  # every failure becomes a line
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {error}".replace("\n", " ")[:2000], flush=True)
            traceback.print_exc()
    return failed
