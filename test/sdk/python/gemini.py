"""Tests the Gemini API of the gateway with the official client of the vendor."""

import os
import sys

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from errands import COUNT, GREETING, LOOP, PIXEL, SEEN, STEPS, SUMMARY, TOOLS, is_person, perform
from kit import case, equal, refused, run

URL, KEY = os.environ["VENDOR_URL"], os.environ["VENDOR_KEY"]
MODEL, NEWER = os.environ.get("VENDOR_MODEL", "gemini-2.5-flash"), os.environ.get("CHAT_REASONER", "gemini-3.1-pro-preview")


def make(key=KEY):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=URL))


client = make()


def tools(plain=False):
    """Returns the declarations, with the vendor's own kind of schema or JSON Schema. A tool without parameters has no schema."""
    kind = "parameters_json_schema" if plain else "parameters"
    declared = [
        types.FunctionDeclaration(name=name, description="A tool", **({kind: schema} if schema["properties"] else {}))
        for name, schema in TOOLS.items()
    ]
    return [types.Tool(function_declarations=declared)]


def whole(contents, model=MODEL, **config):
    config.setdefault("automatic_function_calling", {"disable": True})
    return client.models.generate_content(model=model, contents=contents, config=config)


def streamed(contents, model=MODEL, **config):
    """Returns the complete response, assembled from the chunks."""
    config.setdefault("automatic_function_calling", {"disable": True})
    chunks = list(client.models.generate_content_stream(model=model, contents=contents, config=config))
    parts = [part for chunk in chunks if chunk.candidates and chunk.candidates[0].content for part in chunk.candidates[0].content.parts or []]
    last = chunks[-1]
    if last.candidates:
        last.candidates[0].content = types.Content(role="model", parts=[part for part in parts if part.text != ""])
    return last


def text(answer):
    return "".join(part.text for part in answer.candidates[0].content.parts if part.text and not part.thought)


def loop(create, **config):
    contents, turns = [types.Content(role="user", parts=[types.Part(text=LOOP)])], []
    while True:
        answer = create(contents, **config)
        turns.append(answer)
        found = [part.function_call for part in answer.candidates[0].content.parts if part.function_call]
        if not found:
            return turns
        equal(answer.candidates[0].finish_reason, types.FinishReason.STOP, "finish_reason")
        results = [
            types.Part(function_response=types.FunctionResponse(id=c.id, name=c.name, response={"result": perform(c.name, c.args)}))
            for c in found
        ]
        contents = contents + [answer.candidates[0].content, types.Content(role="user", parts=results)]


def check_loop(turns):
    steps = [[part.function_call.name for part in turn.candidates[0].content.parts if part.function_call] for turn in turns[:-1]]
    equal(steps, STEPS, "steps")
    equal(text(turns[-1]), SUMMARY, "summary")


@case("chat")
def chat():
    answer = whole("Hello", system_instruction="Be brief.")
    equal(answer.text, f'You said "Hello". The system said "Be brief.". {GREETING}', "text")
    equal(answer.candidates[0].finish_reason, types.FinishReason.STOP, "finish_reason")
    equal(answer.model_version, MODEL, "model")
    usage = answer.usage_metadata
    equal(usage.total_token_count, usage.prompt_token_count + usage.candidates_token_count, "total")


@case("stream")
def stream():
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="Hello"))
    assert len(chunks) > 3, chunks
    equal("".join(chunk.text or "" for chunk in chunks), f'You said "Hello". {GREETING}', "text")
    equal(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP, "finish_reason")
    assert chunks[-1].usage_metadata.candidates_token_count > 0


@case("tool-loop")
def tool_loop():
    for model in (MODEL, NEWER):
        check_loop(loop(whole, model=model, tools=tools()))
        check_loop(loop(whole, model=model, tools=tools(plain=True)))


@case("tool-loop-streamed")
def tool_loop_streamed():
    for model in (MODEL, NEWER):
        check_loop(loop(streamed, model=model, tools=tools()))


@case("tool-choice")
def tool_choice():
    forced = {"function_calling_config": {"mode": "ANY", "allowed_function_names": ["add"]}}
    answer = whole("Hi", tools=tools(), tool_config=forced)
    (call,) = answer.function_calls
    equal((call.name, sorted(call.args)), ("add", ["a", "b"]))
    none = whole(LOOP, tools=tools(), tool_config={"function_calling_config": {"mode": "NONE"}})
    equal(none.function_calls, None, "calls")


@case("tool-failure")
def tool_failure():
    first = whole(LOOP, tools=tools())
    results = [types.Part(function_response=types.FunctionResponse(name=c.name, response={"error": "no such city"})) for c in first.function_calls]
    prompt = types.Content(role="user", parts=[types.Part(text=LOOP)])
    last = whole([prompt, first.candidates[0].content, types.Content(role="user", parts=results)], tools=tools())
    assert "failed with no such city" in last.text, last.text


@case("vision")
def vision():
    answer = whole([types.Part.from_bytes(data=PIXEL, mime_type="image/png"), "What is this?"])
    assert SEEN in answer.text, answer.text


class Person(BaseModel):
    name: str
    age: int


@case("json-schema")
def json_schema():
    answer = whole("Who?", response_mime_type="application/json", response_schema=Person)
    is_person(answer.text)
    assert isinstance(answer.parsed, Person), answer.parsed
    plain = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
    is_person(whole("Who?", response_mime_type="application/json", response_json_schema=plain).text)


@case("reasoning")
def reasoning():
    budget, level = {"include_thoughts": True, "thinking_budget": 1024}, {"include_thoughts": True, "thinking_level": "LOW"}
    for create in (whole, streamed):
        for model, thinking in ((MODEL, budget), (NEWER, level)):
            answer = create("Why?", model=model, thinking_config=thinking)
            assert any(part.thought for part in answer.candidates[0].content.parts), answer
            assert answer.usage_metadata.thoughts_token_count > 0
            check_loop(loop(create, model=model, tools=tools(), thinking_config=thinking))


@case("reasoning-signatures")
def signatures():
    first = whole(LOOP, model=NEWER, tools=tools()).candidates[0].content
    results = types.Content(role="user", parts=[
        types.Part(function_response=types.FunctionResponse(id=part.function_call.id, name=part.function_call.name, response={"result": "21"}))
        for part in first.parts if part.function_call
    ])
    prompt = types.Content(role="user", parts=[types.Part(text=LOOP)])

    def again(signature):
        parts = [part.model_copy() for part in first.parts]
        for part in parts:
            if part.thought_signature:
                part.thought_signature = signature
        return lambda: whole([prompt, types.Content(role="model", parts=parts), results], model=NEWER, tools=tools())

    signed = [part.thought_signature for part in first.parts if part.function_call]
    assert signed[0] and not signed[1], signed
    again(signed[0])()
    error = refused(errors.ClientError, again(None))
    assert "missing a thought_signature" in error.message, error.message
    error = refused(errors.ClientError, again(b"another signature"))
    assert "Corrupted thought signature" in error.message, error.message


@case("cached")
def cached():
    system = "Long instructions. " * 400
    first, second = whole("One", system_instruction=system), whole("Two", system_instruction=system)
    equal(first.usage_metadata.cached_content_token_count, None, "cached at first")
    assert second.usage_metadata.cached_content_token_count > 1000, second.usage_metadata


@case("stop-sequence")
def stop_sequence():
    answer = whole(COUNT, stop_sequences=["seven eight nine ten", "never"])
    equal((answer.text, answer.candidates[0].finish_reason), ("one two three four five six ", types.FinishReason.STOP))


@case("max-tokens")
def max_tokens():
    answer = whole(COUNT, max_output_tokens=3)
    equal((answer.candidates[0].finish_reason, answer.usage_metadata.candidates_token_count), (types.FinishReason.MAX_TOKENS, 3))


@case("refusal")
def refusal():
    for create in (whole, streamed):
        answer = create("Help. [refuse]")
        equal(answer.candidates[0].finish_reason, types.FinishReason.SAFETY, "finish_reason")


@case("blocked")
def blocked():
    for create in (whole, streamed):
        answer = create("Help. [block]")
        equal((answer.candidates, answer.prompt_feedback.block_reason), (None, types.BlockedReason.PROHIBITED_CONTENT))


def raw(body, model=MODEL):
    """Sends a body unchanged: the client cannot write most of the invalid requests."""
    return client._api_client.request("post", f"models/{model}:generateContent", body, None)


@case("models")
def models():
    assert f"models/{MODEL}" in [model.name for model in client.models.list()]


@case("count-tokens")
def count_tokens():
    assert client.models.count_tokens(model=MODEL, contents="How long is this?").total_tokens >= 4


@case("history")
def history():
    """The client keeps a streamed turn in the history of a chat only if every event is valid."""
    talk = client.chats.create(model=MODEL)
    for message in ("One", "Two"):
        assert list(talk.send_message_stream(message)), message
    equal([turn.role for turn in talk.get_history(curated=True)][:4:3], ["user", "model"], "turns")
    equal(len([turn for turn in talk.get_history(curated=True) if turn.role == "user"]), 2, "user turns")


@case("gateway-errors")
def gateway_errors():
    error = refused(errors.ClientError, lambda: whole("Hi", model="no-such-model"))
    equal((error.code, error.status), (404, "NOT_FOUND"))
    equal(error.details["code"], "MODEL_NOT_FOUND", "code")
    stranger = make("fl_wrong")
    equal(refused(errors.ClientError, lambda: list(stranger.models.list())).code, 401, "code")


@case("auto")
def auto():
    assert whole("Hello", model="auto").model_version in (MODEL, NEWER)


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
