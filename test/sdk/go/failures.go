package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// failures returns the cases about errors, and about retries by the client.
func failures() []testCase {
	key := func(name string) option.RequestOption { return option.WithAPIKey(os.Getenv(name)) }
	wrong := option.WithAPIKey("fl_wrong")
	return []testCase{
		{"error-401", failing(sim(wrong), ask("sim-nano", "Hi"), http.StatusUnauthorized, "INVALID_API_KEY")},
		{"error-403-scope", failing(mock(key("READ_KEY")), ask("vendor/slashed", "Hi"), http.StatusForbidden, "SCOPE_DENIED")},
		{"error-403-model", failing(mock(key("NARROW_KEY")), ask(scripted("echo"), "Hi"), http.StatusForbidden, "MODEL_NOT_ALLOWED")},
		{"error-404", unknownModel},
		{"error-400", failing(sim(), openai.ChatCompletionNewParams{Model: "sim-nano", Messages: []openai.ChatCompletionMessageParamUnion{}}, http.StatusBadRequest, "INVALID_REQUEST")},
		{"error-413", failing(mock(), ask(scripted("echo"), strings.Repeat("x", 5_000_000)), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")},
		{"error-422", failing(mock(), ask(scripted("unprocessable"), "Hi"), http.StatusUnprocessableEntity, "PROVIDER_UPSTREAM_ERROR")},
		{"error-429", limited},
		{"error-502", failing(mock(), ask(scripted("dead"), "Hi"), http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")},
		{"retry-503", retried},
		{"retry-after", patient},
		{"budget-not-retried", broke},
	}
}

// wantError checks that an error has the client's own type, with the code and the message, and returns it.
func wantError(err error, status int, code string) (*openai.Error, error) {
	var e *openai.Error
	if !errors.As(err, &e) {
		return nil, holds(false, "the error is %T, want *openai.Error: %v", err, err)
	}
	return e, errors.Join(
		equal("status", e.StatusCode, status),
		equal("code", e.Code, code),
		holds(e.Message != "", "the error has no message: %s", e.RawJSON()),
		equal("x-fairlead-error-code", e.Response.Header.Get("x-fairlead-error-code"), code),
		holds(strings.HasPrefix(e.Response.Header.Get("x-request-id"), "req_"), "x-request-id is %q", e.Response.Header.Get("x-request-id")),
	)
}

// failing returns the function of a case in which the client must return an error.
func failing(client openai.Client, params openai.ChatCompletionNewParams, status int, code string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.Chat.Completions.New(ctx, params)
		_, err = wantError(err, status, code)
		return err
	}
}

func unknownModel(ctx context.Context) error {
	client := sim()
	var resp *http.Response
	_, err := client.Chat.Completions.New(ctx, ask("sim-smal", "Hi"), option.WithResponseInto(&resp))
	e, err := wantError(err, http.StatusNotFound, "MODEL_NOT_FOUND")
	if err != nil {
		return err
	}
	var body struct {
		Details struct{ Suggestions []string }
	}
	if err := json.NewDecoder(e.Response.Body).Decode(&body); err != nil {
		return err
	}
	_, err = client.Models.Get(ctx, "sim-smal")
	_, err = wantError(err, http.StatusNotFound, "MODEL_NOT_FOUND")
	return errors.Join(err, holds(slices.Contains(body.Details.Suggestions, simulated), "suggestions are %v", body.Details.Suggestions))
}

func limited(ctx context.Context) error {
	client := mock(option.WithAPIKey(os.Getenv("LIMITED_KEY")))
	if _, err := client.Chat.Completions.New(ctx, ask("vendor/slashed", "Hi")); err != nil {
		return err
	}
	_, err := client.Chat.Completions.New(ctx, ask("vendor/slashed", "Hi"))
	e, err := wantError(err, http.StatusTooManyRequests, "RATE_LIMITED")
	if err != nil {
		return err
	}
	wait, err := strconv.Atoi(e.Response.Header.Get("Retry-After"))
	return errors.Join(err, holds(wait >= 1 && wait <= 60, "Retry-After is %d, want 1 to 60", wait))
}

func retried(ctx context.Context) error {
	sent := 0
	client := mock(option.WithMaxRetries(2), counting(&sent))
	if _, err := client.Chat.Completions.New(ctx, ask(scripted("flaky"), "Hi")); err != nil {
		return err
	}
	var seen struct{ Calls int }
	err := control(ctx, "calls", url.Values{"model": {scripted("flaky")}}, &seen)
	return errors.Join(err, equal("requests sent", sent, 2), equal("calls of the provider", seen.Calls, 2))
}

func patient(ctx context.Context) error {
	sent, began := 0, time.Now()
	client := mock(option.WithMaxRetries(2), counting(&sent))
	if _, err := client.Chat.Completions.New(ctx, ask(scripted("busy"), "Hi")); err != nil {
		return err
	}
	took := time.Since(began)
	return errors.Join(holds(took >= 2*time.Second && took < 20*time.Second, "the response took %s, want 2 s to 20 s with Retry-After 2", took), equal("requests sent", sent, 2))
}

func broke(ctx context.Context) error {
	sent := 0
	client := mock(option.WithAPIKey(os.Getenv("BROKE_KEY")), option.WithMaxRetries(2), counting(&sent))
	_, err := client.Chat.Completions.New(ctx, ask("vendor/slashed", "Hi"))
	_, err = wantError(err, http.StatusPaymentRequired, "BUDGET_EXCEEDED")
	return errors.Join(err, equal("requests sent", sent, 1))
}
