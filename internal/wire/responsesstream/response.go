// Package responsesstream reads the responses of providers that use the Responses format: streams, whole responses and usage.
// The bytes pass through; only the model name and the ids of stored responses change.
package responsesstream

import (
	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/fault"
	"fairlead/internal/wire/messagesstream"
)

// Usage returns the usage of a response object, or nil when the provider reports none or implausible counts.
func Usage(response rawjson.Value) *llm.Usage {
	return usageOf(response.Get("usage"), response.Get("service_tier").String())
}

func usageOf(v rawjson.Value, tier string) *llm.Usage {
	if !v.IsObject() {
		return nil
	}
	count := func(path string) (int64, bool) {
		n := v.Get(path)
		if n.Kind != rawjson.Number {
			return 0, true
		}
		f := n.Float()
		return int64(f), f >= 0 && f <= llm.MaxTokenCount && f == float64(int64(f))
	}
	input, ok1 := count("input_tokens")
	read, ok2 := count("input_tokens_details.cached_tokens")
	written, ok3 := count("input_tokens_details.cache_write_tokens")
	output, ok4 := count("output_tokens")
	reasoning, ok5 := count("output_tokens_details.reasoning_tokens")
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || v.Get("output_tokens").Kind != rawjson.Number || read+written > input {
		return nil
	}
	return &llm.Usage{
		Input: input - read - written, CacheRead: read, CacheWrite: written, Output: output, Reasoning: min(reasoning, output),
		ServiceTier: tier,
	}
}

// Finish returns the finish reason of a response object in the terms of the chat format. It is empty while the response is not
// complete.
func Finish(response rawjson.Value) string {
	return finishOf(response.Get("status").String(), func() string { return response.Get("incomplete_details.reason").String() }, func() bool {
		calls := false
		response.Get("output").ForEach(func(_, item rawjson.Value) bool {
			calls = IsCall(item.Get("type").String())
			return !calls
		})
		return calls
	})
}

// finishOf returns the finish reason for a status. incomplete returns why a response is incomplete, calls whether it has a tool call.
func finishOf(status string, incomplete func() string, calls func() bool) string {
	switch status {
	case "completed", "":
		if calls() {
			return "tool_calls"
		}
		return "stop"
	case "incomplete":
		if incomplete() == "content_filter" {
			return "content_filter"
		}
		return "length"
	}
	return ""
}

// IsCall reports whether an output item is a tool call that the client must run.
func IsCall(item string) bool {
	switch item {
	case "function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return false
}

// Failure classifies a response whose status is failed or cancelled. It returns nil for any other.
func Failure(response rawjson.Value) *llm.Error {
	return failureOf(response.Get("status").String(), []byte(response.Get("error").Raw))
}

func failureOf(status string, failure []byte) *llm.Error {
	switch status {
	case "failed":
		if rawjson.Parse(failure).IsObject() {
			return fault.Inside(failure)
		}
		return llm.Errorf(llm.UpstreamServer, "The provider could not complete the response.")
	case "cancelled":
		return messagesstream.Interrupted()
	}
	return nil
}
