"""Prints whether the exceptions of the official Python clients show the message of each error."""

import json
import os
import sys

import anthropic
import openai

from kit import case, mock, run, scripted, user

SENTENCES = json.loads(os.environ["SENTENCES"])
MESSAGES = os.environ["SDK_NAME"] == "anthropic-python"


def client(key):
    if MESSAGES:
        return anthropic.Anthropic(base_url=os.environ["MOCK_URL"].removesuffix("/v1"), api_key=key, max_retries=0)
    return mock(api_key=key)


def ask(key="MOCK_KEY", model="vendor/slashed", **fields):
    """Sends one request with the client of this run."""
    own = client(os.environ.get(key, key))
    if MESSAGES:
        return own.messages.create(model=model, max_tokens=100, messages=user("Hi"), **fields)
    return own.chat.completions.create(model=model, messages=user("Hi"), **fields)


def shows(name, call):
    """Registers a case. The text of the exception that the call raises must contain the message."""

    @case(name)
    def check():
        try:
            call()
        except (openai.APIError, anthropic.APIError) as error:
            assert SENTENCES[name] in str(error), f"{type(error).__name__} shows {str(error)!r}"
            return
        raise AssertionError("no error was raised")


def limited():
    for _ in range(2):
        ask("LIMITED_KEY")


def read_responses():
    for event in mock().responses.create(model=scripted("cut"), input="Hi", stream=True):
        assert event.type != "response.completed"


shows("bad-key", lambda: ask("fl_wrong"))
shows("unknown-model", lambda: ask(model="no-such-model"))
shows("budget", lambda: ask("BROKE_KEY"))
shows("rate-limit", limited)
shows("invalid-field", lambda: ask(extra_body={"stream": "maybe"}))
shows("no-target", lambda: ask(model=scripted("dead")))
if MESSAGES:
    shows("mid-stream-messages", lambda: list(ask(model=scripted("cut"), stream=True)))
else:
    shows("mid-stream-chat", lambda: list(ask(model=scripted("cut"), stream=True)))
    shows("mid-stream-responses", read_responses)

sys.exit(1 if run() else 0)
