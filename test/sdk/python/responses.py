"""Typical uses of the Responses API with the official OpenAI client, through a gateway whose provider has another API."""

import base64
import json
import os
import sys

from openai import OpenAI
from pydantic import BaseModel

from errands import COUNT, GREETING, LOOP, PIXEL, SEEN, STEPS, SUMMARY, TOOLS, perform
from kit import case, equal, run

MODEL, REASONER = os.environ["CHAT_MODEL"], os.environ["CHAT_REASONER"]
DECLARED = [{"type": "function", "name": name, "description": "A tool", "parameters": schema, "strict": False} for name, schema in TOOLS.items()]
client = OpenAI(base_url=os.environ["CHAT_URL"], api_key=os.environ["CHAT_KEY"], max_retries=0)


def whole(items, model=MODEL, **fields):
    return client.responses.create(model=model, input=items, store=False, **fields)


def streamed(items, model=MODEL, **fields):
    with client.responses.stream(model=model, input=items, store=False, **fields) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def loop(create, **fields):
    items, steps = [{"role": "user", "content": LOOP}], []
    while True:
        answer = create(items, tools=DECLARED, **fields)
        equal(answer.status, "completed", "status")
        found = [item for item in answer.output if item.type == "function_call"]
        if not found:
            return steps, answer.output_text
        steps.append([call.name for call in found])
        items = items + [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
        items += [{"type": "function_call_output", "call_id": c.call_id, "output": perform(c.name, json.loads(c.arguments))} for c in found]


@case("chat")
def chat():
    answer = whole("Hello", instructions="Be brief.")
    equal(answer.output_text, f'You said "Hello". The system said "Be brief.". {GREETING}', "text")
    equal((answer.status, answer.object), ("completed", "response"))
    equal(answer.usage.total_tokens, answer.usage.input_tokens + answer.usage.output_tokens, "total_tokens")


@case("stream")
def stream():
    pieces, kinds = [], []
    with client.responses.create(model=MODEL, input="Hello", stream=True, store=False) as events:
        for event in events:
            kinds.append(event.type)
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
    assert len(pieces) > 2, pieces
    equal("".join(pieces), f'You said "Hello". {GREETING}', "text")
    equal((kinds[0], kinds[-1]), ("response.created", "response.completed"))


@case("tool-loop")
def tool_loop():
    equal(loop(whole), (STEPS, SUMMARY))


@case("tool-loop-streamed")
def tool_loop_streamed():
    equal(loop(streamed), (STEPS, SUMMARY))


@case("vision")
def vision():
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    parts = [{"type": "input_image", "image_url": url, "detail": "auto"}, {"type": "input_text", "text": "What is this?"}]
    answer = whole([{"role": "user", "content": parts}])
    assert SEEN in answer.output_text, answer.output_text


class Person(BaseModel):
    name: str
    age: int


@case("json-schema")
def json_schema():
    answer = client.responses.parse(model=MODEL, input="Who?", text_format=Person, store=False)
    assert isinstance(answer.output_parsed, Person), answer


@case("reasoning")
def reasoning():
    answer = whole("Why?", model=REASONER, reasoning={"effort": "low"})
    assert GREETING in answer.output_text, answer.output_text
    assert answer.usage.output_tokens_details.reasoning_tokens > 0, answer.usage


@case("max-tokens")
def max_tokens():
    answer = whole(COUNT, max_output_tokens=16)
    equal((answer.status, answer.incomplete_details.reason), ("incomplete", "max_output_tokens"))


if __name__ == "__main__":
    sys.exit(1 if run() else 0)
