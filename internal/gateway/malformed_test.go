package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// providerFormat is the wire format of a provider. Its fields build a stream: the start, an event with text, an event with malformed JSON,
// and the end.
type providerFormat struct {
	media     string
	new       func(s provider.Settings) *provider.Provider
	start     string
	text      func(s string) string
	malformed func(value string) string // an event with text whose JSON contains value where a number is expected
	end       string
}

func sseData(data string) string { return "data: " + data + "\n\n" }

func converseEvent(kind, payload string) string {
	var out bytes.Buffer
	headers := eventstream.Headers{
		{Name: ":message-type", Value: eventstream.StringValue("event")}, {Name: ":event-type", Value: eventstream.StringValue(kind)},
	}
	if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: headers, Payload: []byte(payload)}); err != nil {
		panic(err)
	}
	return out.String()
}

var providerFormats = map[string]providerFormat{
	"chat": {
		media: "text/event-stream",
		new: func(s provider.Settings) *provider.Provider {
			return compatible.New(compatible.Row{Name: s.Name, Title: s.Name, ChatPath: "/chat/completions"}, s)
		},
		start: sseData(`{"id":"c","choices":[{"index":0,"delta":{"role":"assistant"}}]}`),
		text: func(s string) string {
			return sseData(`{"id":"c","choices":[{"index":0,"delta":{"content":"` + s + `"}}]}`)
		},
		malformed: func(value string) string {
			return sseData(`{"id":"c","choices":[{"index":0,"delta":{"content":"lost"},"logprobs":{"content":[{"logprob":` + value + `}]}}]}`)
		},
		end: sseData(`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + sseData("[DONE]"),
	},
	"messages": {
		media: "text/event-stream",
		new: func(s provider.Settings) *provider.Provider {
			return anthropic.Plain(s.Name, s.Name).New(s)
		},
		start: sseData(started) + sseData(opened),
		text:  func(s string) string { return sseData(delta(s)) },
		malformed: func(value string) string {
			return sseData(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lost"},"score":` + value + `}`)
		},
		end: sseData(closed) + sseData(ended) + sseData(stopped),
	},
	"gemini": {
		media: "text/event-stream",
		new:   func(s provider.Settings) *provider.Provider { return gemini.Plain(s.Name, s.Name).New(s) },
		start: sseData(`{"responseId":"r"}`),
		text:  func(s string) string { return sseData(`{"candidates":[{"content":{"parts":[{"text":"` + s + `"}]}}]}`) },
		malformed: func(value string) string {
			return sseData(`{"candidates":[{"avgLogprobs":` + value + `,"content":{"parts":[{"text":"lost"}]}}]}`)
		},
		end: sseData(`{"candidates":[{"finishReason":"STOP"}]}`),
	},
	"converse": {
		media: "application/vnd.amazon.eventstream",
		new:   func(s provider.Settings) *provider.Provider { return bedrock.Plain(s.Name, s.Name).New(s) },
		start: converseEvent("messageStart", `{"role":"assistant"}`),
		text: func(s string) string {
			return converseEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"`+s+`"}}`)
		},
		malformed: func(value string) string {
			return converseEvent("contentBlockDelta", `{"contentBlockIndex":0,"score":`+value+`,"delta":{"text":"lost"}}`)
		},
		end: converseEvent("messageStop", `{"stopReason":"end_turn"}`),
	},
}

var clientFormats = map[string]struct{ path, body string }{
	"messages":  {"/messages", wantsMessages},
	"chat":      {"/chat/completions", streaming("large")},
	"responses": {"/responses", `{"model":"large","stream":true,"input":"hello"}`},
}

// notJSON are values that programs write instead of a JSON number; the last one truncates the document.
var notJSON = map[string]string{"NaN": "NaN", "negative infinity": "-Infinity", "truncated": ""}

// newFormatKit returns a kit whose providers stream the given bytes in the format.
func newFormatKit(t *testing.T, f providerFormat, streams map[string]string) *kit {
	t.Helper()
	k := newKit(t, func(k *kit) { k.inside = true })
	var all []*provider.Provider
	for name, stream := range streams {
		large := target("large", 2, 8)
		if name == "beta" {
			large = target("large", 3, 9) // large is the second choice
		}
		large.Provider = name
		p := f.new(provider.Settings{Name: name, BaseURL: "http://" + name + ".invalid", Targets: []*provider.Target{large}})
		p.Credentials = []provider.Credential{{ID: name, Secret: "none"}}
		p.Transport = simulator.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", f.media)
			_, _ = io.WriteString(w, stream)
		}))
		all = append(all, p)
	}
	k.snapshot = route.NewSnapshot(defaultCatalog(t), all, nil)
	k.gateway.Update(k.settings, k.snapshot)
	return k
}

// forEachMalformed runs the test for every provider format, client format and malformed value.
func forEachMalformed(t *testing.T, test func(t *testing.T, f providerFormat, path, body, malformed string)) {
	for format, f := range providerFormats {
		for client, c := range clientFormats {
			for kind, value := range notJSON {
				t.Run(format+" to "+client+" with "+kind, func(t *testing.T) {
					t.Parallel()
					malformed := f.malformed(value)
					if value == "" && f.media == "text/event-stream" {
						malformed = strings.TrimSpace(malformed)
						malformed = malformed[:len(malformed)-3] + "\n\n"
					}
					test(t, f, c.path, c.body, malformed)
				})
			}
		}
	}
}

func TestMalformedEventAfterContentEndsTheStreamWithAnError(t *testing.T) {
	t.Parallel()
	forEachMalformed(t, func(t *testing.T, f providerFormat, path, body, malformed string) {
		t.Helper()
		k := newFormatKit(t, f, map[string]string{"alpha": f.start + f.text("one ") + malformed + f.text("two") + f.end})

		got := k.post(path, body)

		if got.text() != "one " || got.whole() || !got.failed() {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		if e := k.entry(); e.Outcome != requestlog.Partial || e.Attempts[0].Class != llm.UpstreamMalformed {
			t.Errorf("outcome %s, attempts %v", e.Outcome, classes(e))
		}
	})
}

func TestMalformedEventBeforeContentFallsBack(t *testing.T) {
	t.Parallel()
	forEachMalformed(t, func(t *testing.T, f providerFormat, path, body, malformed string) {
		t.Helper()
		k := newFormatKit(t, f, map[string]string{
			"alpha": f.start + malformed + f.text("one") + f.end,
			"beta":  f.start + f.text("from beta") + f.end,
		})

		got := k.post(path, body)

		if got.text() != "from beta" || !got.whole() || got.failed() {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		if e := k.entry(); e.Outcome != requestlog.OK || e.Attempts[0].Class != llm.UpstreamMalformed {
			t.Errorf("outcome %s, attempts %v", e.Outcome, classes(e))
		}
	})
}
