"""Endpoints that older programs call: legacy completions and moderations."""

from openai import BadRequestError

from kit import SIMULATED, case, equal, refused, sim

PROMPT = "Once upon a time"


@case("completions")
def completions():
    raw = sim().completions.with_raw_response.create(model=SIMULATED, prompt=[PROMPT, "There was"], max_tokens=64, n=2, logprobs=1)
    answer = raw.parse()
    equal(answer.object, "text_completion", "object")
    equal(answer.model, SIMULATED, "model")
    equal([choice.index for choice in answer.choices], [0, 1, 2, 3], "choices")
    assert all("simulated answer" in choice.text for choice in answer.choices), answer.choices
    assert all(choice.finish_reason in ("stop", "length") for choice in answer.choices)
    equal("".join(answer.choices[0].logprobs.tokens), answer.choices[0].text, "tokens")
    equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens, "total_tokens")
    assert float(raw.headers["x-fairlead-cost"]) > 0
    refused(BadRequestError, lambda: sim().completions.create(model="sim-embed-small", prompt=PROMPT))


@case("completions-auto")
def completions_auto():
    answer = sim().completions.create(model="auto", prompt=PROMPT)
    assert answer.model.startswith("sim-") and answer.choices[0].text, answer


@case("completions-streamed")
def completions_streamed():
    whole = sim().completions.create(model=SIMULATED, prompt=PROMPT, max_tokens=64)
    text, finishes, usages, ids = "", [], [], set()
    stream = sim().completions.create(
        model=SIMULATED, prompt=PROMPT, max_tokens=64, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        equal(chunk.object, "text_completion", "object")
        equal(chunk.model, SIMULATED, "model")
        ids.add(chunk.id)
        if chunk.usage:
            usages.append(chunk.usage)
        for choice in chunk.choices:
            text += choice.text
            if choice.finish_reason:
                finishes.append(choice.finish_reason)
    equal(text, whole.choices[0].text, "text")
    equal(finishes, [whole.choices[0].finish_reason], "finish_reason")
    equal(len(usages), 1, "usage chunks")
    equal(usages[0].completion_tokens, whole.usage.completion_tokens, "completion_tokens")
    equal(len(ids), 1, "ids")
    for chunk in sim().completions.create(model=SIMULATED, prompt=PROMPT, stream=True):
        assert chunk.choices and not chunk.usage, "an unexpected usage chunk"


@case("moderations")
def moderations():
    raw = sim().moderations.with_raw_response.create(model="sim-moderation", input=["A quiet harbour.", "I will kill you."])
    answer = raw.parse()
    equal(answer.model, "sim-moderation", "model")
    equal([result.flagged for result in answer.results], [False, True], "flagged")
    assert answer.results[1].categories.violence and answer.results[1].category_scores.violence > 0.5
    equal(float(raw.headers["x-fairlead-cost"]), 0.0, "cost")
    parts = [{"type": "text", "text": "hello"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
    equal(len(sim().moderations.create(model="auto", input=parts).results), 1, "results")
    refused(BadRequestError, lambda: sim().moderations.create(model=SIMULATED, input="hello"))
