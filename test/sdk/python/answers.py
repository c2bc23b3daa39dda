"""Complete responses: chat, tools, structured output, images, embeddings, models."""

import json
import math
from typing import List

from pydantic import BaseModel

from kit import SIMULATED, case, equal, mock, scripted, sim, user

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather at a place",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
            "required": ["place", "unit"],
            "additionalProperties": False,
        },
    },
}
# One red pixel.
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


@case("chat")
def chat():
    answer = sim().chat.completions.create(model=SIMULATED, messages=user("Say hello."))
    equal(answer.object, "chat.completion")
    equal(answer.model, SIMULATED, "model")
    equal(answer.choices[0].finish_reason, "stop", "finish_reason")
    equal(answer.choices[0].message.role, "assistant", "role")
    assert "Say hello." in answer.choices[0].message.content
    assert answer.usage.prompt_tokens > 0 and answer.usage.completion_tokens > 0
    equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens, "total_tokens")


@case("chat-auto")
def chat_auto():
    raw = sim().chat.completions.with_raw_response.create(model="auto", messages=user("What is 2+2?"))
    answer = raw.parse()
    assert answer.model.startswith("sim-"), answer.model
    equal(raw.headers["x-fairlead-model"], answer.model, "x-fairlead-model")


@case("headers")
def headers():
    raw = sim().chat.completions.with_raw_response.create(model=SIMULATED, messages=user("Hello"))
    answer = raw.parse()
    assert answer._request_id.startswith("req_"), answer._request_id
    equal(raw.headers["x-request-id"], answer._request_id, "x-request-id")
    equal(raw.headers["x-fairlead-decision"], "expected", "decision")
    equal(raw.headers["x-fairlead-model"], SIMULATED, "model")
    equal(raw.headers["x-fairlead-provider"], "simulator", "provider")
    equal(raw.headers["x-fairlead-attempts"], "1", "attempts")
    assert float(raw.headers["x-fairlead-cost"]) > 0


@case("tool-call")
def tool_call():
    client = sim()
    messages = user("Use get_weather for Paris.")
    first = client.chat.completions.create(model=SIMULATED, messages=messages, tools=[WEATHER])
    equal(first.choices[0].finish_reason, "tool_calls", "finish_reason")
    (call,) = first.choices[0].message.tool_calls
    equal(call.function.name, "get_weather", "tool")
    arguments = json.loads(call.function.arguments)
    assert arguments["unit"] in ("C", "F"), arguments
    messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "21 degrees, sunny"}]
    second = client.chat.completions.create(model=SIMULATED, messages=messages, tools=[WEATHER])
    equal(second.choices[0].finish_reason, "stop", "finish_reason")
    assert "21 degrees, sunny" in second.choices[0].message.content


@case("tool-calls-parallel")
def parallel():
    answer = sim().chat.completions.create(
        model=SIMULATED, messages=user("Use get_weather in parallel for Paris and Rome."), tools=[WEATHER]
    )
    calls = answer.choices[0].message.tool_calls
    equal(len(calls), 2, "number of calls")
    assert calls[0].id != calls[1].id
    one = sim().chat.completions.create(
        model=SIMULATED,
        messages=user("Use get_weather in parallel for Paris and Rome."),
        tools=[WEATHER],
        parallel_tool_calls=False,
    )
    equal(len(one.choices[0].message.tool_calls), 1, "number of calls without parallel_tool_calls")


class Step(BaseModel):
    explanation: str
    result: float


class Solution(BaseModel):
    steps: List[Step]
    answer: str
    certain: bool


@case("json-schema-parse")
def parse():
    answer = sim().chat.completions.parse(model="auto", messages=user("Solve 3x = 6."), response_format=Solution)
    solution = answer.choices[0].message.parsed
    assert isinstance(solution, Solution), solution
    assert solution.steps and isinstance(solution.steps[0].result, float)


@case("vision")
def vision():
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}]
    answer = sim().chat.completions.create(model="auto", messages=user(parts))
    assert "1 image" in answer.choices[0].message.content, answer.choices[0].message.content
    assert answer.model in ("sim-vision", "sim-medium", "sim-large", "sim-flagship"), answer.model


@case("embeddings")
def embeddings():
    client = sim()
    texts = ["The quick brown fox", "jumps over the lazy dog", "日本語"]
    packed = client.embeddings.create(model="sim-embed-small", input=texts)
    plain = client.embeddings.create(model="sim-embed-small", input=texts, encoding_format="float")
    equal([item.index for item in packed.data], [0, 1, 2], "order")
    assert packed.usage.prompt_tokens > 0
    for a, b in zip(packed.data, plain.data):
        equal(len(a.embedding), 1536, "length")
        assert abs(math.sqrt(sum(x * x for x in a.embedding)) - 1) < 1e-3, "the norm of the vector is not 1"
        assert max(abs(x - y) for x, y in zip(a.embedding, b.embedding)) < 1e-6, "base64 and float differ"
    assert packed.data[0].embedding != packed.data[1].embedding


@case("embeddings-dimensions")
def dimensions():
    answer = sim().embeddings.create(model="sim-embed-small", input="hello", dimensions=256)
    equal(len(answer.data[0].embedding), 256, "length")
    assert abs(math.sqrt(sum(x * x for x in answer.data[0].embedding)) - 1) < 1e-3


@case("models-list")
def models_list():
    names = [model.id for model in sim().models.list()]
    assert "auto" in names and SIMULATED in names and "sim-embed-small" in names, names


@case("models-retrieve")
def models_retrieve():
    equal(sim().models.retrieve("auto").id, "auto", "id")
    equal(mock().models.retrieve("vendor/slashed").id, "vendor/slashed", "id")
    answer = mock().chat.completions.create(model="vendor/slashed", messages=user("Hello"))
    equal(answer.model, "vendor/slashed", "model")


@case("unicode")
def unicode():
    text = "naïve 日本語 🚀👩‍👩‍👧 \u2028 \u0000 \t <&> \\ \" مرحبا"
    equal(echo(text), text, "echoed text")


@case("large-prompt")
def large_prompt():
    text = "0123456789 🚀é " * 60_000  # a bit more than 1 MB
    assert len(text.encode()) > 1_000_000
    assert echo(text) == text, "the provider received another prompt"


def echo(text):
    """Returns the prompt that the provider received."""
    answer = mock().chat.completions.create(model=scripted("echo"), messages=user(text))
    received = json.loads(answer.choices[0].message.content)
    return json.loads(received["body"])["messages"][0]["content"]
