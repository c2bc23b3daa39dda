"""Every class of error that the client distinguishes, and the requests that it retries."""

import time

import openai

from kit import Counter, case, control, equal, mock, refused, scripted, sim, user


def ask(client, model=None, messages=None, **fields):
    return lambda: client.chat.completions.create(
        model=model or "sim-nano", messages=user("Hi") if messages is None else messages, **fields
    )


def check_error(error, status, code):
    """Checks the exception: status, code, request id, and the three members of the body."""
    equal(error.status_code, status, "status")
    equal(error.response.headers["x-fairlead-error-code"], code, "x-fairlead-error-code")
    assert error.request_id.startswith("req_"), error.request_id
    body = error.response.json()
    equal(sorted(body), ["code", "details", "error"], "members")
    equal(body["code"], code, "code")
    equal(body["error"]["code"], code, "error.code")
    assert body["error"]["message"] in str(error), str(error)
    equal(body["details"]["request_id"], error.request_id, "details.request_id")
    equal(error.response.headers["x-should-retry"], str(body["details"]["retryable"]).lower(), "x-should-retry")
    return body


@case("error-401")
def unauthorized():
    client = sim()
    client.api_key = "fl_wrong"
    check_error(refused(openai.AuthenticationError, ask(client)), 401, "INVALID_API_KEY")


@case("error-403-scope")
def scope():
    check_error(refused(openai.PermissionDeniedError, ask(mock("READ_KEY"), "vendor/slashed")), 403, "SCOPE_DENIED")


@case("error-403-model")
def not_allowed():
    check_error(refused(openai.PermissionDeniedError, ask(mock("NARROW_KEY"), scripted("echo"))), 403, "MODEL_NOT_ALLOWED")


@case("error-404")
def unknown():
    body = check_error(refused(openai.NotFoundError, ask(sim(), "sim-smal")), 404, "MODEL_NOT_FOUND")
    assert "sim-small" in body["details"]["suggestions"], body["details"]
    check_error(refused(openai.NotFoundError, lambda: sim().models.retrieve("sim-smal")), 404, "MODEL_NOT_FOUND")


@case("error-400")
def invalid():
    body = check_error(refused(openai.BadRequestError, ask(sim(), messages=[])), 400, "INVALID_REQUEST")
    equal(body["details"]["param"], "messages", "param")


@case("error-413")
def too_large():
    error = refused(openai.APIStatusError, ask(mock(), scripted("echo"), user("x" * 5_000_000)))
    check_error(error, 413, "PAYLOAD_TOO_LARGE")


@case("error-422")
def unprocessable():
    error = refused(openai.UnprocessableEntityError, ask(mock(), scripted("unprocessable")))
    check_error(error, 422, "PROVIDER_UPSTREAM_ERROR")


@case("error-429")
def limited():
    client = mock("LIMITED_KEY")
    ask(client, "vendor/slashed")()
    error = refused(openai.RateLimitError, ask(client, "vendor/slashed"))
    check_error(error, 429, "RATE_LIMITED")
    assert 1 <= int(error.response.headers["retry-after"]) <= 60


@case("error-502")
def down():
    body = check_error(refused(openai.InternalServerError, ask(mock(), scripted("dead"))), 502, "PROVIDER_UPSTREAM_ERROR")
    equal(body["details"]["attempts"][0]["class"], "connect", "class")


@case("retry-503")
def retried():
    counter = Counter()
    client = mock(max_retries=2, http_client=counter.client)
    raw = client.chat.completions.with_raw_response.create(model=scripted("flaky"), messages=user("Hi"))
    equal(raw.retries_taken, 1, "retries")
    equal(counter.sent, 2, "requests sent")
    equal(control("calls", model=scripted("flaky"))["calls"], 2, "calls of the provider")


@case("retry-after")
def patient():
    counter = Counter()
    began = time.monotonic()
    ask(mock(max_retries=2, http_client=counter.client), scripted("busy"))()
    took = time.monotonic() - began
    assert 2 <= took < 20, f"the response took {took:.1f} s, want 2 s to 20 s with Retry-After 2"
    equal(counter.sent, 2, "requests sent")


@case("budget-not-retried")
def broke():
    counter = Counter()
    error = refused(openai.APIStatusError, ask(mock("BROKE_KEY", max_retries=2, http_client=counter.client), "vendor/slashed"))
    check_error(error, 402, "BUDGET_EXCEEDED")
    equal(counter.sent, 1, "requests sent")
