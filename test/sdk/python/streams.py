"""Streams: the client's helpers, the end of a stream, and disconnects."""

import json

import openai

from answers import WEATHER
from kit import SIMULATED, case, control, equal, mock, refused, scripted, sim, user


@case("stream-usage")
def usage():
    stream = sim().chat.completions.create(
        model=SIMULATED, messages=user("Tell me more."), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert "Tell me more." in text
    equal(len({c.id for c in chunks}), 1, "number of ids")
    equal({c.model for c in chunks}, {SIMULATED}, "models")
    equal([c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason], ["stop"], "finishes")
    equal([bool(c.usage) for c in chunks].count(True), 1, "number of usage chunks")
    last = chunks[-1]
    equal(last.choices, [], "choices of the usage chunk")
    equal(last.usage.total_tokens, last.usage.prompt_tokens + last.usage.completion_tokens, "total_tokens")
    assert last.usage.completion_tokens > 0


@case("stream-without-usage")
def no_usage():
    chunks = list(sim().chat.completions.create(model=SIMULATED, messages=user("Hi."), stream=True))
    assert all(c.choices for c in chunks), "an unexpected chunk without choices"
    assert not any(c.usage for c in chunks), "unexpected usage"


@case("stream-helper")
def helper():
    with sim().chat.completions.stream(
        model="auto", messages=user("What is a knot?"), stream_options={"include_usage": True}
    ) as stream:
        text = "".join(event.delta for event in stream if event.type == "content.delta")
        answer = stream.get_final_completion()
    equal(answer.choices[0].message.content, text, "accumulated text")
    assert answer.model.startswith("sim-"), answer.model
    assert answer.usage.total_tokens > 0


@case("tool-call-streamed")
def tools():
    with sim().chat.completions.stream(
        model=SIMULATED, messages=user("Use get_weather in parallel for Paris and Rome."), tools=[WEATHER]
    ) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        answer = stream.get_final_completion()
    equal(answer.choices[0].finish_reason, "tool_calls", "finish_reason")
    equal(len(done), 2, "number of calls")
    for call, event in zip(answer.choices[0].message.tool_calls, done):
        equal(call.function.name, "get_weather", "tool")
        equal(event.arguments, call.function.arguments, "arguments")
        assert json.loads(call.function.arguments)["unit"] in ("C", "F")


@case("stream-error-before-first-token")
def early():
    error = refused(
        openai.InternalServerError,
        lambda: list(mock().chat.completions.create(model=scripted("down"), messages=user("Hi"), stream=True)),
    )
    equal(error.status_code, 502, "status")


@case("error-mid-stream")
def broken():
    stream = mock().chat.completions.create(model=scripted("cut"), messages=user("Hi"), stream=True)
    seen = []

    def read():
        for chunk in stream:
            seen.append(chunk.choices[0].delta.content or "")

    error = refused(openai.APIError, read)
    assert "".join(seen), "no text before the error"
    assert error.body, "the error event was not read"
    entry = control("entry", id=stream.response.headers["x-request-id"])
    equal(entry["outcome"], "partial", "outcome")


@case("abort")
def abort():
    stream = mock().chat.completions.create(model=scripted("endless"), messages=user("Hi"), stream=True)
    next(iter(stream))
    stream.close()
    control("gone", model=scripted("endless"))
    entry = control("entry", id=stream.response.headers["x-request-id"])
    equal(entry["outcome"], "cancelled", "outcome")
