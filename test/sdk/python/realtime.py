"""Tests the gateway's realtime sessions with the official client of OpenAI."""

import os
import sys

import openai
import websockets

from kit import case, equal, refused, run

URL = os.environ["VENDOR_URL"]
MODEL = os.environ["VENDOR_MODEL"]
client = openai.OpenAI(base_url=URL, websocket_base_url=URL.replace("http", "ws", 1), api_key=os.environ["VENDOR_KEY"], max_retries=0)


def ask(session, text):
    session.conversation.item.create(item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    session.response.create()
    words = ""
    for event in session:
        if event.type == "response.output_text.delta":
            words += event.delta
        elif event.type == "response.done":
            return words, event.response.usage


@case("session")
def session():
    with client.realtime.connect(model=MODEL) as connection:
        equal(connection.recv().type, "session.created", "first event")
        connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        equal(connection.recv().type, "session.updated", "second event")
        for text in ("Hello", "Grüße ☕"):
            words, usage = ask(connection, text)
            equal(words, text, "words")
            equal((usage.input_tokens, usage.output_tokens), (100, 50), "usage")


@case("refused")
def refuse():
    for model, key, status in (("unknown", client.api_key, 404), ("auto", client.api_key, 400), (MODEL, "fl_wrong", 401)):
        other = client.with_options(api_key=key)
        error = refused(websockets.exceptions.InvalidStatus, lambda: other.realtime.connect(model=model).enter())
        equal(error.response.status_code, status, f"status for {model}")
        assert b'"code"' in error.response.body, error.response.body


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
