"""Typical uses of the official OpenAI client, against a vendor's mock or a gateway in front of one."""

import base64
import json
import os
import sys

from openai import AzureOpenAI, OpenAI
from pydantic import BaseModel

from errands import COUNT, GREETING, LOOP, PIXEL, SEEN, STEPS, SUMMARY, TOOLS, perform
from kit import case, equal, run, user

URL, KEY, MODEL, REASONER = (os.environ[name] for name in ("CHAT_URL", "CHAT_KEY", "CHAT_MODEL", "CHAT_REASONER"))
DECLARED = [{"type": "function", "function": {"name": name, "description": "A tool", "parameters": schema}} for name, schema in TOOLS.items()]


def connect():
    """Azure's client puts the deployment into the path, so its address has no /v1."""
    if "AZURE_VERSION" in os.environ:
        return AzureOpenAI(azure_endpoint=URL, api_key=KEY, api_version=os.environ["AZURE_VERSION"], max_retries=0)
    return OpenAI(base_url=URL, api_key=KEY, max_retries=0)


client = connect()


def whole(messages, model=MODEL, **fields):
    """Returns a response, and its message as clients send it back."""
    answer = client.chat.completions.create(model=model, messages=messages, **fields)
    return answer.choices[0].message, answer.choices[0].finish_reason, answer.usage


def streamed(messages, model=MODEL, **fields):
    """Like whole, but assembled by the client's helper, which drops unknown fields."""
    with client.chat.completions.stream(model=model, messages=messages, stream_options={"include_usage": True}, **fields) as stream:
        for _ in stream:
            pass
        answer = stream.get_final_completion()
    return answer.choices[0].message, answer.choices[0].finish_reason, answer.usage


def loop(create, back=None, **fields):
    """Runs the tools until the model returns an answer, and returns the tools called in each step and the answer."""
    back = back or everything
    messages, steps = user(LOOP), []
    while True:
        message, finish, _ = create(messages, tools=DECLARED, **fields)
        if not message.tool_calls:
            equal(finish, "stop", "finish_reason")
            return steps, message.content
        equal(finish, "tool_calls", "finish_reason")
        steps.append([call.function.name for call in message.tool_calls])
        messages = messages + [back(message)] + [
            {"role": "tool", "tool_call_id": call.id, "content": perform(call.function.name, json.loads(call.function.arguments))}
            for call in message.tool_calls
        ]


def defined(message):
    """Returns the message as most frameworks send it back: only the fields that the format defines."""
    calls = [{"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}} for call in message.tool_calls]
    return {"role": "assistant", "content": message.content, "tool_calls": calls}


def everything(message):
    """Returns the message with all its fields, except those that the client's helper added."""
    plain = message.model_dump(exclude_none=True, exclude={"parsed"})
    for call in plain.get("tool_calls", []):
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    return plain


@case("chat")
def chat():
    system = [{"role": "system", "content": "Be brief."}]
    message, finish, usage = whole(system + user("Hello"))
    equal(message.content, f'You said "Hello". The system said "Be brief.". {GREETING}', "content")
    equal(finish, "stop", "finish_reason")
    equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens, "total_tokens")
    earlier = [{"role": "assistant", "content": "Good day."}]
    message, _, _ = whole(system + user("Hello") + earlier + user("And now?"))
    assert "That was turn 3." in message.content, message.content


@case("stream")
def stream():
    pieces = []
    chunks = list(client.chat.completions.create(model=MODEL, messages=user("Hello"), stream=True, stream_options={"include_usage": True}))
    for chunk in chunks:
        if chunk.choices and chunk.choices[0].delta.content:
            pieces.append(chunk.choices[0].delta.content)
    assert len(pieces) > 2, pieces
    equal("".join(pieces), f'You said "Hello". {GREETING}', "content")
    equal([c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason], ["stop"], "finishes")
    assert chunks[-1].usage.completion_tokens > 0


@case("tool-loop")
def tool_loop():
    equal(loop(whole), (STEPS, SUMMARY))


@case("tool-loop-streamed")
def tool_loop_streamed():
    equal(loop(streamed), (STEPS, SUMMARY))


@case("tool-choice")
def tool_choice():
    message, _, _ = whole(user("Hi"), tools=DECLARED, tool_choice={"type": "function", "function": {"name": "add"}})
    (call,) = message.tool_calls
    equal((call.function.name, sorted(json.loads(call.function.arguments))), ("add", ["a", "b"]))
    message, finish, _ = whole(user(LOOP), tools=DECLARED, tool_choice="none")
    equal((message.tool_calls, finish), (None, "stop"))


@case("vision")
def vision():
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    message, _, _ = whole(user([{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "What is this?"}]))
    assert SEEN in message.content, message.content


class Person(BaseModel):
    name: str
    age: int


@case("json-schema")
def json_schema():
    answer = client.chat.completions.parse(model=MODEL, messages=user("Who?"), response_format=Person)
    assert isinstance(answer.choices[0].message.parsed, Person), answer
    equal(answer.choices[0].finish_reason, "stop", "finish_reason")


@case("reasoning")
def reasoning():
    for create in (whole, streamed):
        message, finish, usage = create(user("Why?"), model=REASONER, reasoning_effort="low")
        assert GREETING in message.content, message.content
        equal(finish, "stop", "finish_reason")
        if os.environ.get("CHAT_COUNTS_REASONING", "yes") == "yes":
            assert usage.completion_tokens_details.reasoning_tokens > 0, usage


@case("reasoning-tools")
def reasoning_tools():
    """The vendor requires its reasoning in the loop; this client sends back all fields of the message, including the reasoning."""
    equal(loop(whole, model=REASONER, reasoning_effort="low"), (STEPS, SUMMARY))


@case("reasoning-tools-streamed")
def reasoning_tools_streamed():
    equal(loop(streamed, model=REASONER, reasoning_effort="low"), (STEPS, SUMMARY))


@case("reasoning-tools-forgetful")
def reasoning_tools_forgetful():
    """The client drops the vendor's signatures, as LangChain, the OpenAI Agents SDK and the AI SDK do."""
    for create in (whole, streamed):
        equal(loop(create, back=defined, model=REASONER, reasoning_effort="low"), (STEPS, SUMMARY))


@case("stop-sequence")
def stop_sequence():
    for create in (whole, streamed):
        message, finish, _ = create(user(COUNT), stop=["never", "seven eight nine ten eleven twelve thirteen"])
        equal((message.content, finish), ("one two three four five six ", "stop"))


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
