"""Tests the Messages API of the gateway with the official client of the vendor."""

import base64
import os
import sys
import warnings

import anthropic
from pydantic import BaseModel

from errands import COUNT, GREETING, LOOP, PERSON, PIXEL, SEEN, STEPS, SUMMARY, TOOLS, is_person, perform
from kit import case, equal, refused, run

URL, KEY = os.environ["VENDOR_URL"], os.environ["VENDOR_KEY"]
MODEL = os.environ.get("VENDOR_MODEL", "claude-sonnet-4-5-20250929")
OLDER, NEWEST = "claude-sonnet-4-20250514", "claude-opus-4-7"
DECLARED = [{"name": name, "description": "A tool", "input_schema": schema} for name, schema in TOOLS.items()]
client = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=0)
warnings.simplefilter("ignore", DeprecationWarning)  # some cases test deprecated models


def user(content):
    return [{"role": "user", "content": content}]


def ask(content, **fields):
    fields = {"model": MODEL, "max_tokens": 4096, **fields}
    return client.messages.create(messages=user(content), **fields)


def streamed(messages, **fields):
    """Returns the complete message, assembled by the client's helper."""
    fields = {"model": MODEL, "max_tokens": 4096, **fields}
    with client.messages.stream(messages=messages, **fields) as stream:
        return stream.get_final_message()


def whole(messages, **fields):
    fields = {"model": MODEL, "max_tokens": 4096, **fields}
    return client.messages.create(messages=messages, **fields)


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def loop(create, **fields):
    """Runs the tools until the vendor returns an answer, and returns the messages."""
    messages, turns = user(LOOP), []
    while True:
        answer = create(messages, tools=DECLARED, **fields)
        turns.append(answer)
        uses = [block for block in answer.content if block.type == "tool_use"]
        if not uses:
            return turns
        equal(answer.stop_reason, "tool_use", "stop_reason")
        results = [{"type": "tool_result", "tool_use_id": use.id, "content": perform(use.name, use.input)} for use in uses]
        messages = messages + [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]


def check_loop(turns):
    equal([[b.name for b in turn.content if b.type == "tool_use"] for turn in turns[:-1]], STEPS, "steps")
    equal(turns[-1].stop_reason, "end_turn", "stop_reason")
    equal(text(turns[-1]), SUMMARY, "summary")


@case("chat")
def chat():
    answer = ask("Hello", system="Be brief.")
    equal(text(answer), f'You said "Hello". The system said "Be brief.". {GREETING}', "text")
    equal((answer.stop_reason, answer.model, answer.role), ("end_turn", MODEL, "assistant"))
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0


@case("request-id")
def request_id():
    assert ask("Hello")._request_id.startswith("req_")


@case("stream")
def stream():
    pieces = []
    with client.messages.stream(model=MODEL, max_tokens=100, messages=user("Hello")) as events:
        for piece in events.text_stream:
            pieces.append(piece)
        final = events.get_final_message()
    assert len(pieces) > 2, pieces
    equal("".join(pieces), f'You said "Hello". {GREETING}', "text")
    equal(final.stop_reason, "end_turn", "stop_reason")
    equal(final.usage.output_tokens, ask("Hello").usage.output_tokens, "output_tokens")


@case("tool-loop")
def tool_loop():
    check_loop(loop(whole))


@case("tool-loop-streamed")
def tool_loop_streamed():
    check_loop(loop(streamed))


@case("tool-choice")
def tool_choice():
    answer = ask("Hi", tools=DECLARED, tool_choice={"type": "tool", "name": "add"})
    (use,) = answer.content
    equal((use.name, sorted(use.input)), ("add", ["a", "b"]))


@case("single-calls")
def single_calls():
    one = whole(user(LOOP), tools=DECLARED, tool_choice={"type": "auto", "disable_parallel_tool_use": True})
    equal(len([b for b in one.content if b.type == "tool_use"]), 1, "number of calls")


@case("tool-failure")
def tool_failure():
    first = whole(user(LOOP), tools=DECLARED)
    results = [{"type": "tool_result", "tool_use_id": b.id, "content": "no such city", "is_error": True} for b in first.content if b.type == "tool_use"]
    last = whole(user(LOOP) + [{"role": "assistant", "content": first.content}, {"role": "user", "content": results}], tools=DECLARED)
    assert "failed with no such city" in text(last), text(last)


@case("vision")
def vision():
    data = base64.b64encode(PIXEL).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    answer = ask([{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}])
    assert SEEN in text(answer), text(answer)


class Person(BaseModel):
    name: str
    age: int


@case("json-schema")
def json_schema():
    is_person(text(ask("Who?", output_config={"format": {"type": "json_schema", "schema": PERSON}})))
    parsed = client.messages.parse(model=MODEL, max_tokens=100, messages=user("Who?"), output_format=Person)
    assert isinstance(parsed.parsed_output, Person), parsed


@case("reasoning")
def reasoning():
    budget = {"type": "enabled", "budget_tokens": 2048}
    for create in (whole, streamed):
        answer = create(user("Why?"), thinking=budget)
        equal([block.type for block in answer.content], ["thinking", "text"], "blocks")
        assert answer.content[0].signature
        assert answer.usage.output_tokens_details.thinking_tokens > 0
        check_loop(loop(create, thinking=budget))
        check_loop(loop(create, thinking={"type": "adaptive"}, model=NEWEST, output_config={"effort": "low"}))
        quiet = create(user("Why?"), thinking={"type": "adaptive"}, model=NEWEST).content[0]
        assert quiet.thinking == "" and quiet.signature, quiet
        assert create(user("Why?"), thinking={"type": "adaptive", "display": "summarized"}, model=NEWEST).content[0].thinking
    hidden = whole(user("Why? [redacted]"), thinking=budget)
    equal([block.type for block in hidden.content], ["thinking", "redacted_thinking", "text"], "blocks")


@case("reasoning-signatures")
def signatures():
    budget = {"type": "enabled", "budget_tokens": 2048}
    first = whole(user(LOOP), tools=DECLARED, thinking=budget)
    blocks = [block.model_dump(exclude_none=True) for block in first.content]
    results = [{"type": "tool_result", "tool_use_id": b["id"], "content": "21"} for b in blocks if b["type"] == "tool_use"]

    def again(content):
        messages = user(LOOP) + [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        return lambda: whole(messages, tools=DECLARED, thinking=budget)

    again(blocks)()
    error = refused(anthropic.BadRequestError, again([b for b in blocks if b["type"] != "thinking"]))
    assert "Expected `thinking`" in error.message, error.message
    changed = [{**b, "thinking": "something else"} if b["type"] == "thinking" else b for b in blocks]
    error = refused(anthropic.BadRequestError, again(changed))
    assert "Invalid `signature`" in error.message, error.message


@case("cached")
def cached():
    system = [{"type": "text", "text": "Long instructions. " * 400, "cache_control": {"type": "ephemeral"}}]
    first, second = ask("One", system=system), ask("Two", system=system)
    assert first.usage.cache_creation_input_tokens > 1000 and first.usage.cache_read_input_tokens == 0, first.usage
    equal(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens, "cache_read_input_tokens")


@case("stop-sequence")
def stop_sequence():
    answer = ask(COUNT, stop_sequences=["seven eight nine ten", "never"])
    equal((text(answer), answer.stop_reason, answer.stop_sequence), ("one two three four five six ", "stop_sequence", "seven eight nine ten"))


@case("max-tokens")
def max_tokens():
    answer = ask(COUNT, max_tokens=3)
    equal((answer.stop_reason, answer.usage.output_tokens), ("max_tokens", 3))


@case("refusal")
def refusal():
    for create in (whole, streamed):
        answer = create(user("Help. [refuse]"))
        equal((answer.stop_reason, answer.content), ("refusal", []))


@case("models")
def models():
    assert MODEL in [model.id for model in client.models.list()]
    equal(client.models.retrieve(MODEL).id, MODEL, "id")


@case("count-tokens")
def count_tokens():
    counted = client.messages.count_tokens(model=MODEL, messages=user("Hello there"), tools=DECLARED)
    assert counted.input_tokens > 0


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
