package gateway_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
)

const alphaSecret = "sk-provider-secret-alpha"

// spellings holds functions that encode one byte of a credential for a JSON string, by the name of the encoding.
var spellings = map[string]func(c byte) string{
	"plain":   func(c byte) string { return string(c) },
	"escaped": func(c byte) string { return fmt.Sprintf(`\u%04x`, c) },
	"first character escaped": func(c byte) string {
		if c == 's' {
			return `\u0073`
		}
		return string(c)
	},
	"escaped twice": func(c byte) string { return fmt.Sprintf(`\\u%04x`, c) },
}

// spelled returns the encoded credential, split into pieces of n characters of the credential.
func spelled(spell func(byte) string, n int) (pieces []string) {
	for part := range slices.Chunk([]byte(alphaSecret), n) {
		var b strings.Builder
		for _, c := range part {
			b.WriteString(spell(c))
		}
		pieces = append(pieces, b.String())
	}
	return pieces
}

func TestResponsesNeverContainTheCredential(t *testing.T) {
	t.Parallel()
	const end = `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	deltas := map[string]string{
		"text":      `{"content":"PIECE"}`,
		"reasoning": `{"reasoning_content":"PIECE"}`,
		"arguments": `{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"PIECE"}}]}`,
	}
	requests := map[string]string{
		"/chat/completions": streaming("small"),
		"/messages":         `{"model":"small","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`,
		"/responses":        `{"model":"small","stream":true,"input":"hello"}`,
	}
	for spelling, spell := range spellings {
		for kind, delta := range deltas {
			for _, size := range []int{1, 3, 10, len(alphaSecret)} {
				var events []string
				for _, piece := range slices.Concat([]string{"{", "key "}, spelled(spell, size), []string{"}"}) {
					events = append(events, fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":null}]}`,
						strings.Replace(delta, "PIECE", piece, 1)))
				}
				for path, request := range requests {
					t.Run(fmt.Sprintf("%s%s/%s/%s by %d", kind, path, "stream", spelling, size), func(t *testing.T) {
						t.Parallel()
						k := newKit(t, func(k *kit) { k.inside = true })
						k.alpha.Always(simulator.Behaviour{Events: append(slices.Clone(events), end)})
						got := k.post(path, request)
						k.checkRedacted(got)
						whole := k.post(path, strings.Replace(request, `"stream":true,`, "", 1))
						k.checkRedacted(whole)
					})
				}
			}
		}
	}
}

func TestWholeResponsesAndErrorsNeverContainTheCredential(t *testing.T) {
	t.Parallel()
	for spelling, spell := range spellings {
		text := strings.Join(spelled(spell, 4), "")
		for name, b := range map[string]simulator.Behaviour{
			"response":          {Body: []byte(`{"id":"c","object":"chat.completion","model":"TEXT","choices":[{"index":0,"message":{"role":"assistant","content":"key TEXT","tool_calls":[{"id":"TEXT","type":"function","function":{"name":"f","arguments":"{\"key\":\"TEXT\"}"}}]},"finish_reason":"stop"}]}`)},
			"unknown members":   {Body: []byte(`{"id":"c","object":"chat.completion","model":"m","TEXT":"x","extra":{"key":["TEXT"]},"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)},
			"error":             {Status: 400, Body: []byte(`{"error":{"message":"bad key TEXT","type":"TEXT","code":"TEXT"}}`)},
			"text error":        {Status: 500, Body: []byte(`bad key TEXT`)},
			"error in a 200":    {Body: []byte(`{"error":{"message":"bad key TEXT","code":"TEXT"}}`)},
			"malformed":         {Body: []byte(`{"TEXT`)},
			"error in a stream": {Events: []string{`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"error":{"message":"TEXT is over its quota","code":"TEXT"}}`}},
		} {
			for path, request := range map[string]string{
				"/chat/completions": `{"model":"small","stream":STREAM,"messages":[{"role":"user","content":"hello"}]}`,
				"/messages":         `{"model":"small","stream":STREAM,"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`,
			} {
				t.Run(spelling+"/"+name+path, func(t *testing.T) {
					t.Parallel()
					k := newKit(t, func(k *kit) { k.inside = true })
					own := b // the subtests run at the same time
					own.Body = []byte(strings.ReplaceAll(string(b.Body), "TEXT", text))
					own.Events = slices.Clone(b.Events)
					for i := range own.Events {
						own.Events[i] = strings.ReplaceAll(own.Events[i], "TEXT", text)
					}
					k.alpha.Always(own)
					stream := fmt.Sprint(len(own.Events) > 0)
					k.checkRedacted(k.post(path, strings.Replace(request, "STREAM", stream, 1), "X-Fairlead-Trace", "full"))
				})
			}
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
	documents := []string{string(entry)}
	for line := range strings.Lines(got.body) {
		documents = append(documents, strings.TrimPrefix(strings.TrimSpace(line), "data: "))
	}
	for name, values := range got.header {
		documents = append(documents, name, strings.Join(values, " "))
	}
	joined := map[string]string{}
	for _, text := range documents {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			v = text
		}
		collect("", v, joined)
	}
	for _, path := range slices.Sorted(maps.Keys(joined)) {
		text := joined[path]
		for range 3 {
			if strings.Contains(text, alphaSecret) {
				k.Errorf("the credential is in %s: %s", path, joined[path])
			}
			text = unescaped(text)
		}
	}
}

// collect concatenates the strings at each path, as a client does with the deltas of a stream.
func collect(path string, v any, joined map[string]string) {
	switch v := v.(type) {
	case string:
		joined[path] += v
	case []any:
		for _, e := range v {
			collect(path+"[]", e, joined)
		}
	case map[string]any:
		for name, e := range v {
			joined["names"] += " " + name
			collect(path+"."+name, e, joined)
		}
	}
}

// unescaped decodes the unicode escapes of a text.
func unescaped(text string) string {
	for c := byte(' '); c < 0x7f; c++ {
		text = strings.ReplaceAll(text, fmt.Sprintf(`\u%04x`, c), string(c))
	}
	return text
}
