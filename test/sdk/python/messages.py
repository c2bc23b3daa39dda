"""Tests the mock of the Messages API with the official client of the vendor."""

import base64
import os
import sys
import time
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
FIRST_VERSION = {"extra_headers": {"anthropic-version": "2023-06-01"}}
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
    assert len(pieces) > 3, pieces
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


@case("error-429")
def limited():
    error = refused(anthropic.RateLimitError, lambda: ask("[error 429]"))
    equal(error.response.headers["retry-after"], "7", "retry-after")
    equal(error.body["error"]["type"], "rate_limit_error", "type")


@case("overloaded")
def overloaded():
    error = refused(anthropic.OverloadedError, lambda: ask("[overloaded]")) if hasattr(anthropic, "OverloadedError") else None
    if error is None:
        error = refused(anthropic.InternalServerError, lambda: ask("[overloaded]"))
    equal(error.status_code, 529, "status")
    patient = anthropic.Anthropic(base_url=URL, api_key=KEY, max_retries=2)
    patient.messages.create(model=MODEL, max_tokens=10, messages=user(f"{time.time()} [error 500 once]"))


@case("error-in-stream")
def error_in_stream():
    try:
        streamed(user("Hello [error in stream]"))
    except anthropic.APIStatusError as error:
        equal(error.body["error"]["type"], "overloaded_error", "type")
    else:
        raise AssertionError("no error was raised")


@case("cut")
def cut():
    for create in (whole, streamed):
        try:
            create(user("Hello [cut]"))
        except Exception as error:  # each layer of the client raises its own class
            assert not isinstance(error, (AssertionError, anthropic.APIStatusError)), error
        else:
            raise AssertionError("no error was raised")


@case("slow")
def slow():
    for create in (whole, streamed):
        began = time.monotonic()
        create(user("Hello [slow]"))
        assert time.monotonic() - began >= 0.3


@case("refused")
def refused_requests():
    """Requests that the vendor documents as invalid are rejected."""
    tool = {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12:00"}
    rows = {
        "roles must alternate": {"messages": user("a") + user("b")},
        "first message must use": {"messages": [{"role": "assistant", "content": "a"}]},
        "must be non-empty": {"messages": user([{"type": "text", "text": ""}])},
        "without `tool_result` blocks": {"messages": user("a") + [{"role": "assistant", "content": [tool]}] + user("b"), "tools": DECLARED},
        "unexpected `tool_use_id`": {"messages": user([result]), "tools": DECLARED},
        "must define tools": {"messages": user("a") + [{"role": "assistant", "content": [tool]}] + user([result])},
        "temperature: not supported": {"extra_body": {"temperature": 1}},
        "only be set to 1": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "extra_body": {"temperature": 0.2}, **FIRST_VERSION},
        "greater than `thinking": {"thinking": {"type": "enabled", "budget_tokens": 4096}},
        "forces tool use": {"thinking": {"type": "enabled", "budget_tokens": 1024}, "tools": DECLARED, "tool_choice": {"type": "any"}},
        "deprecated for this model": {"model": NEWEST, "extra_body": {"temperature": 0.2}, **FIRST_VERSION},
        "cannot both be specified": {"extra_body": {"temperature": 0.2, "top_p": 0.9}, **FIRST_VERSION},
        "Use \"thinking.type.adaptive\"": {"model": NEWEST, "thinking": {"type": "enabled", "budget_tokens": 1024}},
        "Extra inputs are not permitted": {"extra_body": {"n": 2}},
        "String should match pattern": {"tools": [{"name": "a b", "input_schema": {"type": "object"}}]},
        "input_schema.type: Field required": {"tools": [{"name": "a", "input_schema": {}}]},
        "non-whitespace": {"stop_sequences": [" "]},
        "trailing whitespace": {"messages": user("a") + [{"role": "assistant", "content": "b "}]},
        "maximum of 4 blocks": {"messages": user([{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}] * 5)},
    }
    for words, fields in rows.items():
        fields = {"model": MODEL, "max_tokens": 4096, "messages": user("Hi"), **fields}
        error = refused(anthropic.BadRequestError, lambda: client.messages.create(**fields))
        assert words in error.message, f"{words!r} is not in {error.message!r}"
    wrong = {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(PIXEL).decode()}
    refused(anthropic.BadRequestError, lambda: ask([{"type": "image", "source": wrong}]))
    forms = {"format": {"type": "json_schema", "schema": PERSON}}
    refused(anthropic.BadRequestError, lambda: ask("Who?", model=OLDER, output_config=forms))
    refused(anthropic.NotFoundError, lambda: ask("Hi", model="gpt-4.1"))
    refused(anthropic.AuthenticationError, lambda: anthropic.Anthropic(base_url=URL, api_key="wrong", max_retries=0).models.list())


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
