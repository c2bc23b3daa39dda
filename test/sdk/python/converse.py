"""Tests the mock of the Bedrock runtime with the official client of the vendor."""

import json
import os
import sys
import time
import urllib.parse
import urllib.request

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError

from errands import COUNT, GREETING, LOOP, PERSON, PIXEL, SEEN, STEPS, SUMMARY, TOOLS, calls, is_person, perform
from kit import case, equal, refused, run

URL, KEY = os.environ["VENDOR_URL"], os.environ["VENDOR_KEY"]
MODEL = "anthropic.claude-sonnet-4-20250514-v1:0"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0"
DECLARED = {"tools": [{"toolSpec": {"name": name, "description": "A tool", "inputSchema": {"json": schema}}} for name, schema in TOOLS.items()]}


def make(secret="test-secret", **options):
    return boto3.client(
        "bedrock-runtime", endpoint_url=URL, region_name="us-east-1", aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=secret,
        config=Config(retries={"max_attempts": 0}, **options),
    )


client = make()


def user(*content):
    return [{"role": "user", "content": [{"text": item} if isinstance(item, str) else item for item in content]}]


def whole(messages, **fields):
    fields = {"modelId": MODEL, "inferenceConfig": {"maxTokens": 4096}, **fields}
    return client.converse(messages=messages, **fields)


def streamed(messages, **fields):
    """Returns the complete response, assembled from the events."""
    fields = {"modelId": MODEL, "inferenceConfig": {"maxTokens": 4096}, **fields}
    blocks, answer = {}, {}
    for event in client.converse_stream(messages=messages, **fields)["stream"]:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            blocks[start["contentBlockIndex"]] = {"toolUse": {**start["start"]["toolUse"], "input": ""}}
        elif "contentBlockDelta" in event:
            add(blocks, event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"])
        elif "messageStop" in event:
            assert "usage" not in answer, "the usage event is before the stop event"
            answer["stopReason"] = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            answer["usage"] = event["metadata"]["usage"]
    content = [blocks[index] for index in sorted(blocks)]
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return {**answer, "output": {"message": {"role": "assistant", "content": content}}}


def add(blocks, index, delta):
    if "text" in delta:
        blocks.setdefault(index, {"text": ""})["text"] += delta["text"]
    elif "toolUse" in delta:
        blocks[index]["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        blocks[index] = {"reasoningContent": delta["reasoningContent"]}
    else:
        reasoning = blocks.setdefault(index, {"reasoningContent": {"reasoningText": {"text": ""}}})["reasoningContent"]["reasoningText"]
        for name, value in delta["reasoningContent"].items():
            reasoning[name] = reasoning.get(name, "") + value


def content(answer):
    return answer["output"]["message"]["content"]


def text(answer):
    return "".join(block.get("text", "") for block in content(answer))


def loop(create, **fields):
    messages, turns = user(LOOP), []
    while True:
        answer = create(messages, toolConfig=DECLARED, **fields)
        turns.append(answer)
        uses = [block["toolUse"] for block in content(answer) if "toolUse" in block]
        if not uses:
            return turns
        equal(answer["stopReason"], "tool_use", "stopReason")
        results = [{"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": perform(use["name"], use["input"])}]}} for use in uses]
        messages = messages + [answer["output"]["message"], {"role": "user", "content": results}]


def check_loop(turns):
    equal([[b["toolUse"]["name"] for b in content(turn) if "toolUse" in b] for turn in turns[:-1]], STEPS, "steps")
    equal((turns[-1]["stopReason"], text(turns[-1])), ("end_turn", SUMMARY))


@case("chat")
def chat():
    for model in (MODEL, PROFILE, "us." + MODEL):
        answer = whole(user("Hello"), system=[{"text": "Be brief."}], modelId=model)
        equal(text(answer), f'You said "Hello". The system said "Be brief.". {GREETING}', "text")
        equal(answer["usage"]["totalTokens"], answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"], "total")


@case("stream")
def stream():
    events = list(client.converse_stream(modelId=MODEL, messages=user("Hello"))["stream"])
    pieces = [event["contentBlockDelta"]["delta"]["text"] for event in events if "contentBlockDelta" in event]
    assert len(pieces) > 3, pieces
    equal("".join(pieces), f'You said "Hello". {GREETING}', "text")
    equal([list(event)[0] for event in events[-2:]], ["messageStop", "metadata"], "end")


@case("tool-loop")
def tool_loop():
    check_loop(loop(whole))


@case("tool-loop-streamed")
def tool_loop_streamed():
    check_loop(loop(streamed))


@case("tool-choice")
def tool_choice():
    answer = whole(user("Hi"), toolConfig={**DECLARED, "toolChoice": {"tool": {"name": "add"}}})
    (block,) = content(answer)
    equal((block["toolUse"]["name"], sorted(block["toolUse"]["input"])), ("add", ["a", "b"]))


@case("tool-failure")
def tool_failure():
    first = whole(user(LOOP), toolConfig=DECLARED)
    results = [
        {"toolResult": {"toolUseId": b["toolUse"]["toolUseId"], "content": [{"json": {"why": "no such city"}}], "status": "error"}}
        for b in content(first) if "toolUse" in b
    ]
    last = whole(user(LOOP) + [first["output"]["message"], {"role": "user", "content": results}], toolConfig=DECLARED)
    assert 'failed with {"why":"no such city"}' in text(last), text(last)


@case("vision")
def vision():
    answer = whole(user({"image": {"format": "png", "source": {"bytes": PIXEL}}}, "What is this?"))
    assert SEEN in text(answer), text(answer)
    refused_with("Could not process image", lambda: whole(user({"image": {"format": "jpeg", "source": {"bytes": PIXEL}}})))


@case("json-schema")
def json_schema():
    structure = {"jsonSchema": {"name": "person", "schema": json.dumps(PERSON)}}
    is_person(text(whole(user("Who?"), outputConfig={"textFormat": {"type": "json_schema", "structure": structure}})))


BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2048}}


@case("reasoning")
def reasoning():
    for create in (whole, streamed):
        answer = create(user("Why?"), additionalModelRequestFields=BUDGET)
        equal([list(block)[0] for block in content(answer)], ["reasoningContent", "text"], "blocks")
        assert content(answer)[0]["reasoningContent"]["reasoningText"]["signature"]
        check_loop(loop(create, additionalModelRequestFields=BUDGET))
        hidden = create(user("Why? [redacted]"), additionalModelRequestFields=BUDGET)
        assert isinstance(content(hidden)[1]["reasoningContent"]["redactedContent"], bytes)


@case("reasoning-signatures")
def signatures():
    first = content(whole(user(LOOP), toolConfig=DECLARED, additionalModelRequestFields=BUDGET))
    results = [{"toolResult": {"toolUseId": b["toolUse"]["toolUseId"], "content": [{"text": "21"}]}} for b in first if "toolUse" in b]

    def again(blocks):
        messages = user(LOOP) + [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
        return lambda: whole(messages, toolConfig=DECLARED, additionalModelRequestFields=BUDGET)

    again(first)()
    refused_with("Expected `thinking`", again([b for b in first if "reasoningContent" not in b]))
    changed = {"reasoningContent": {"reasoningText": {**first[0]["reasoningContent"]["reasoningText"], "text": "something else"}}}
    refused_with("Invalid `signature`", again([changed] + first[1:]))


@case("cached")
def cached():
    system = [{"text": "Long instructions. " * 400}, {"cachePoint": {"type": "default"}}]
    first, second = whole(user("One"), system=system)["usage"], whole(user("Two"), system=system)["usage"]
    assert first["cacheWriteInputTokens"] > 1000 and first["cacheReadInputTokens"] == 0, first
    equal(second["cacheReadInputTokens"], first["cacheWriteInputTokens"], "cacheReadInputTokens")


@case("stop-sequence")
def stop_sequence():
    answer = whole(user(COUNT), inferenceConfig={"stopSequences": ["seven eight nine ten", "never"]})
    equal((text(answer), answer["stopReason"]), ("one two three four five six ", "stop_sequence"))


@case("max-tokens")
def max_tokens():
    answer = whole(user(COUNT), inferenceConfig={"maxTokens": 3})
    equal((answer["stopReason"], answer["usage"]["outputTokens"]), ("max_tokens", 3))


@case("refusal")
def refusal():
    for create in (whole, streamed):
        equal(create(user("Help. [refuse]"))["stopReason"], "content_filtered", "stopReason")


@case("blocked")
def blocked():
    for create in (whole, streamed):
        equal(create(user("Help. [block]"))["stopReason"], "guardrail_intervened", "stopReason")


@case("error-429")
def limited():
    error = refused(client.exceptions.ThrottlingException, lambda: whole(user("[error 429]")))
    equal(error.response["ResponseMetadata"]["HTTPStatusCode"], 429, "status")


@case("overloaded")
def overloaded():
    refused(client.exceptions.ServiceUnavailableException, lambda: whole(user("[overloaded]")))


@case("error-in-stream")
def error_in_stream():
    error = refused(EventStreamError, lambda: streamed(user("Hello [error in stream]")))
    equal(error.response["Error"]["Code"], "throttlingException", "code")


@case("cut")
def cut():
    for create in (whole, streamed):
        try:
            answer = create(user("Hello [cut]"))
        except Exception as error:  # each layer of the client raises its own class
            assert not isinstance(error, (AssertionError, ClientError)), error
        else:  # this client does not always raise an error; the end event is missing
            assert "stopReason" not in answer, answer


@case("slow")
def slow():
    for create in (whole, streamed):
        began = time.monotonic()
        create(user("Hello [slow]"))
        assert time.monotonic() - began >= 0.3


def refused_with(words, call):
    error = refused(client.exceptions.ValidationException, call)
    message = error.response["Error"]["Message"]
    assert words in message, f"{words!r} is not in {message!r}"


@case("refused")
def wrong():
    use = {"toolUse": {"toolUseId": "tooluse_1", "name": "clock", "input": {}}}
    result = {"toolResult": {"toolUseId": "tooluse_1", "content": [{"text": "12:00"}]}}
    called = user("a") + [{"role": "assistant", "content": [use]}]
    document = {"document": {"format": "pdf", "name": "a.pdf", "source": {"bytes": b"%PDF-1.4"}}}
    for words, fields in {
        "must start with a user message": {"messages": [{"role": "assistant", "content": [{"text": "a"}]}]},
        "alternate between user and assistant": {"messages": user("a") + user("b")},
        "is blank": {"messages": user(" ")},
        "toolConfig field must be defined": {"messages": called + user(result)},
        "Expected toolResult blocks": {"messages": called + user("b"), "toolConfig": DECLARED},
        "exceeds the number of toolUse": {"messages": user(result), "toolConfig": DECLARED},
        "file name can only contain": {"messages": user(document, "a")},
        "only be set to 1": {"additionalModelRequestFields": BUDGET, "inferenceConfig": {"maxTokens": 4096, "temperature": 0.5}},
        "Extra inputs are not permitted": {"additionalModelRequestFields": {"seed": 1}},
        "regular expression pattern": {"toolConfig": {"tools": [{"toolSpec": {"name": "a b", "inputSchema": {"json": {"type": "object"}}}}]}},
        "model identifier is invalid": {"modelId": "unknown.model"},
    }.items():
        fields = {"messages": user("Hi"), **fields}
        refused_with(words, lambda: whole(**fields))


@case("signatures")
def credentials():
    refused(client.exceptions.ClientError, lambda: make("wrong").converse(modelId=MODEL, messages=user("Hi")))
    # The client sends bearer keys only over https, so this request is sent without the client.
    request = urllib.request.Request(
        f"{URL}/model/{urllib.parse.quote(MODEL, safe='')}/converse", data=json.dumps({"messages": user("Hi")}).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert GREETING in text(json.load(answer))
    assert calls()[-1]["headers"]["Authorization"] == [f"Bearer {KEY}"]


@case("embeddings")
def embeddings():
    def invoke(model, body):
        return json.load(client.invoke_model(modelId=model, body=json.dumps(body))["body"])

    titan = invoke("amazon.titan-embed-text-v2:0", {"inputText": "a", "dimensions": 256})
    equal(len(titan["embedding"]), 256, "length")
    cohere = invoke("cohere.embed-english-v3", {"texts": ["a", "b"], "input_type": "search_document"})
    equal([len(vector) for vector in cohere["embeddings"]], [1024, 1024], "lengths")
    refused(client.exceptions.ValidationException, lambda: invoke("cohere.embed-english-v3", {"texts": ["a"]}))


@case("nine-signs")
def nine_signs():
    model = "mistral.mistral-large-2402-v1:0"
    check_loop(loop(whole, modelId=model))
    use = {"toolUse": {"toolUseId": "call_that_is_long", "name": "clock", "input": {}}}
    result = {"toolResult": {"toolUseId": "call_that_is_long", "content": [{"text": "12:00"}]}}
    messages = user("a") + [{"role": "assistant", "content": [use]}] + user(result)
    refused_with("with a length of 9", lambda: whole(messages, modelId=model, toolConfig=DECLARED))


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
