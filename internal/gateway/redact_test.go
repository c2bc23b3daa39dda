package gateway_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
)

const alphaSecret = "sk-provider-secret-alpha"

func TestResponsesAndErrorsNeverContainTheCredential(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]simulator.Behaviour{
		"response":          {Body: []byte(`{"id":"c","object":"chat.completion","model":"TEXT","choices":[{"index":0,"message":{"role":"assistant","content":"key TEXT","tool_calls":[{"id":"TEXT","type":"function","function":{"name":"f","arguments":"{\"key\":\"TEXT\"}"}}]},"finish_reason":"stop"}]}`)},
		"unknown members":   {Body: []byte(`{"id":"c","object":"chat.completion","model":"m","TEXT":"x","extra":{"key":["TEXT"]},"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)},
		"error":             {Status: 400, Body: []byte(`{"error":{"message":"bad key TEXT","type":"TEXT","code":"TEXT"}}`)},
		"escaped error":     {Status: 400, Body: []byte(`{"error":{"message":"bad key \u0073` + alphaSecret[1:] + `"}}`)},
		"text error":        {Status: 500, Body: []byte(`bad key TEXT`)},
		"error in a 200":    {Body: []byte(`{"error":{"message":"bad key TEXT","code":"TEXT"}}`)},
		"malformed":         {Body: []byte(`{"TEXT`)},
		"stream":            {Events: []string{`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"key TEXT"}}]}`, `{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"key\":\"TEXT\"}"}}]},"finish_reason":"tool_calls"}]}`}},
		"error in a stream": {Events: []string{`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"error":{"message":"TEXT is over its quota","code":"TEXT"}}`}},
	} {
		for path, request := range map[string]string{
			"/chat/completions": `{"model":"small","stream":STREAM,"messages":[{"role":"user","content":"hello"}]}`,
			"/messages":         `{"model":"small","stream":STREAM,"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`,
			"/responses":        `{"model":"small","stream":STREAM,"input":"hello"}`,
		} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				k := newKit(t, func(k *kit) { k.inside = true })
				own := b // the subtests run at the same time
				own.Body = []byte(strings.ReplaceAll(string(b.Body), "TEXT", alphaSecret))
				own.Events = slices.Clone(b.Events)
				for i := range own.Events {
					own.Events[i] = strings.ReplaceAll(own.Events[i], "TEXT", alphaSecret)
				}
				k.alpha.Always(own)
				stream := fmt.Sprint(len(own.Events) > 0)
				k.checkRedacted(k.post(path, strings.Replace(request, "STREAM", stream, 1), "X-Fairlead-Trace", "full"))
			})
		}
	}
}

// checkRedacted looks for the credential in a response and in its entry.
func (k *kit) checkRedacted(got clientResponse) {
	k.Helper()
	if got.status == 404 || got.status == 403 {
		k.Fatalf("the provider was not called: %s", got.body)
	}
	entry, err := json.Marshal(k.entry())
	if err != nil {
		k.Fatal(err)
	}
	for _, text := range []string{string(entry), got.body, fmt.Sprint(got.header)} {
		if strings.Contains(text, alphaSecret) {
			k.Errorf("the credential is in %s", text)
		}
	}
}
