// Package responsesstream reads the responses of providers that use the Responses format: streams, complete responses and usage. It
// forwards the bytes unchanged, except for the model name and the IDs of stored responses.
package responsesstream

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

// Usage returns the usage of a response object, or nil when the provider reports none or implausible counts.
func Usage(response rawjson.Value) *llm.Usage {
	searches := int64(0)
	response.Get("output").ForEach(func(_, item rawjson.Value) bool {
		searches += Searches(item)
		return true
	})
	searches = max(searches, toolSearches(response.Get("tool_usage")))
	return usageOf([]byte(response.Get("usage").Raw), response.Get("service_tier").String(), searches)
}

// searchItem is the type of an output item for a web search that the provider ran.
const searchItem = "web_search_call"

// Searches returns the number of billed web searches that a complete output item represents: 1 for a search, 0 for a failed search
// and any other item. A call that opens a page from the results of an earlier search is not billed.
func Searches(item rawjson.Value) int64 {
	if item.Get("type").String() != searchItem || item.Get("status").String() == "failed" {
		return 0
	}
	if action := item.Get("action.type").String(); action != "" && action != "search" {
		return 0
	}
	return 1
}

// toolSearches returns the number of web searches in the tool_usage member of a response, which some providers send.
func toolSearches(v rawjson.Value) int64 {
	return min(max(v.Get("web_search.num_requests").Int(), 0), llm.MaxTokenCount)
}

// usageOf converts a usage object. It returns nil if data is not an object, if the output count is missing, or if a count is implausible.
func usageOf(data []byte, tier string, searches int64) *llm.Usage {
	s := rawjson.Scanner{Data: data}
	if s.Kind() != '{' {
		return nil
	}
	c := counter{Scanner: &s}
	var input, read, written, output, reasoning int64
	for key := range s.Members {
		switch string(key) {
		case "input_tokens":
			input = c.count()
		case "output_tokens":
			c.output = s.Kind() == '0'
			output = c.count()
		case "input_tokens_details":
			read, written = c.details("cached_tokens", "cache_write_tokens")
		case "output_tokens_details":
			reasoning, _ = c.details("reasoning_tokens", "")
		}
	}
	if s.Err != nil || c.implausible || !c.output || read+written > input {
		return nil
	}
	return &llm.Usage{
		Input: input - read - written, CacheRead: read, CacheWrite: written, Output: output, Reasoning: min(reasoning, output),
		Searches: searches, ServiceTier: tier,
	}
}

// counter reads token counts.
type counter struct {
	*rawjson.Scanner
	output      bool // whether the response reports output tokens
	implausible bool // whether a value is not a valid token count
}

// count reads the next value as a token count. It returns 0 for a value that is not a number.
func (c *counter) count() int64 {
	if c.Kind() != '0' {
		return 0
	}
	n, ok := rawjson.ParseInteger(c.Number())
	c.implausible = c.implausible || !ok || n < 0 || n > llm.MaxTokenCount
	return n
}

// details reads the next object and returns the token counts of the two named members.
func (c *counter) details(first, second string) (a, b int64) {
	if c.Kind() != '{' {
		return 0, 0
	}
	for key := range c.Members {
		switch string(key) {
		case first:
			a = c.count()
		case second:
			b = c.count()
		}
	}
	return a, b
}

// Finish returns the finish reason of a response object in the terms of the chat format. It returns an empty string while the response is
// not complete.
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

// finishOf returns the finish reason for a response status. For an incomplete response, incomplete must return the reason. calls must
// report whether the response has a tool call.
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

// Failure classifies a response whose status is failed or cancelled. It returns nil for any other status.
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
		return upstream.Interrupted()
	}
	return nil
}
