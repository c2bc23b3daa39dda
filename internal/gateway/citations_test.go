package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/route"
)

// searchVendor is a vendor whose response is "Grüße: Köln liegt am Rhein." with a source for the second part: characters 7 to 27,
// bytes 9 to 30.
type searchVendor struct {
	whole   string
	stream  string
	asked   string // text that a request with web search must contain
	allowed string // text that a request that may search only example.org must contain; empty if the vendor cannot restrict searches
	fee     string // expected number of searches and their fee
}

const rhein = `"url":"https://example.org/rhein","title":"Rhein"`

func events(list ...string) string {
	var b strings.Builder
	for _, data := range list {
		name, data, _ := strings.Cut(data, " ")
		if name != "-" {
			fmt.Fprintf(&b, "event: %s\n", name)
		}
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	return b.String()
}

func searchVendors() map[string]searchVendor {
	const (
		location  = `{"type":"web_search_result_location",` + rhein + `,"encrypted_index":"x","cited_text":"Köln liegt am Rhein"}`
		grounding = `"groundingMetadata":{"webSearchQueries":["","Köln","Köln"],"groundingChunks":[{"web":{"uri":"https://example.org/rhein","title":"Rhein"}}],
			"groundingSupports":[{"segment":{"startIndex":9,"endIndex":30,"text":"Köln liegt am Rhein."},"groundingChunkIndices":[0]}]}`
		counted    = `"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9,"totalTokenCount":18}`
		annotation = `{"type":"url_citation","start_index":7,"end_index":27,` + rhein + `}`
		message    = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Grüße: Köln liegt am Rhein.","annotations":[` + annotation + `]}]}`
		usage      = `"usage":{"input_tokens":9,"output_tokens":9,"total_tokens":18}`
		completed  = `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"id":"ws_1","type":"web_search_call","status":"completed"},` + message + `],` + usage + `}`
		chatCited  = `{"type":"url_citation","url_citation":{"start_index":7,"end_index":27,` + rhein + `}}`
	)
	compact := func(s string) string { return strings.NewReplacer("\n", "", "\t", "").Replace(s) }
	return map[string]searchVendor{
		"claude-sonnet-4-5": {
			whole: `{"id":"msg_1","type":"message","role":"assistant","model":"m","stop_reason":"end_turn","content":[
				{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"Köln"}},
				{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},
				{"type":"text","text":"Grüße: "},{"type":"text","text":"Köln liegt am Rhein.","citations":[` + location + `]}],"usage":{"input_tokens":9,"output_tokens":9,"server_tool_use":{"web_search_requests":2}}}`,
			stream: events(
				`message_start {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
				`content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße: "}}`,
				`content_block_stop {"type":"content_block_stop","index":0}`,
				`content_block_start {"type":"content_block_start","index":1,"content_block":{"citations":[],"type":"text","text":""}}`,
				`content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":`+location+`}}`,
				`content_block_delta {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Köln liegt am Rhein."}}`,
				`content_block_stop {"type":"content_block_stop","index":1}`,
				`message_delta {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"server_tool_use":{"web_search_requests":2}}}`,
				`message_stop {"type":"message_stop"}`),
			asked: `"type":"web_search_20250305","name":"web_search"`, allowed: `"allowed_domains":["example.org"]`,
			fee: "2 searches, $0.02000",
		},
		"gemini-2.5-pro": {
			whole: `{"candidates":[{"content":{"parts":[{"text":"Grüße: Köln liegt am Rhein."}]},"finishReason":"STOP",` + grounding + `}],` + counted + `,"responseId":"r"}`,
			stream: events(
				`- {"candidates":[{"content":{"parts":[{"text":"Grüße: Kö"}]}}],"responseId":"r"}`,
				`- `+compact(`{"candidates":[{"content":{"parts":[{"text":"ln liegt am Rhein."}]},"finishReason":"STOP",`+grounding+`}],`+counted+`,"responseId":"r"}`)),
			asked: `"googleSearch":{}`, fee: "1 searches, $0.03500",
		},
		"reasoner": {
			whole: completed,
			stream: events(
				`response.created {"type":"response.created","response":{"id":"resp_1","model":"m","status":"in_progress","output":[]}}`,
				`response.output_item.added {"type":"response.output_item.added","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
				`response.output_text.delta {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Grüße: Köln liegt am Rhein."}`,
				`response.output_text.annotation.added {"type":"response.output_text.annotation.added","item_id":"msg_1","output_index":1,"content_index":0,"annotation_index":0,"annotation":`+annotation+`}`,
				`response.output_item.done {"type":"response.output_item.done","output_index":1,"item":`+message+`}`,
				`response.completed {"type":"response.completed","response":`+completed+`}`),
			asked: `"type":"web_search"`, allowed: `"filters":{"allowed_domains":["example.org"]}`,
			fee: "1 searches, $0.01000",
		},
		"chat-search": {
			whole: `{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Grüße: Köln liegt am Rhein.","annotations":[` + chatCited + `]}}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`,
			stream: events(
				`- {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Grüße: Köln liegt am Rhein."},"finish_reason":null}]}`,
				`- {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"annotations":[`+chatCited+`]},"finish_reason":"stop"}]}`,
				`- {"id":"c","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`,
				`- [DONE]`),
		},
	}
}

// serveSearch makes the kit's gateway offer every search vendor. The requests are sent to the channel.
func (k *kit) serveSearch() <-chan string {
	k.Helper()
	sent := make(chan string, 10)
	settings := func(name, model string) provider.Settings {
		v := searchVendors()[model]
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent <- string(body)
			if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "stream") {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, v.stream)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, v.whole)
		}))
		k.Cleanup(server.Close)
		target := thinkingTarget(name, model)
		target.Price = target.Price.WithSearchFee(name, model)
		return provider.Settings{
			BaseURL: server.URL + "/v1", Targets: []*provider.Target{target},
			Credentials: []provider.Credential{{ID: name + "#1", Secret: "sk-" + name + "-secret", Source: "test"}},
		}
	}
	row := compatible.Row{Name: "openai", ChatPath: "/chat/completions", ResponsesPath: "/responses"}
	plain := compatible.Row{Name: "plain", ChatPath: "/chat/completions"}
	k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(k.T), []*provider.Provider{
		anthropic.Vendor.New(settings("anthropic", "claude-sonnet-4-5")), gemini.Vendor.New(settings("gemini", "gemini-2.5-pro")),
		compatible.New(row, settings("openai", "reasoner")), compatible.New(plain, settings("plain", "chat-search")),
	}, nil))
	return sent
}

// TestCitationsAndWebSearchAreTranslated sends web search in every client format to every vendor, and checks the request that the vendor
// received, the citation that the client received, and the fee of the searches.
func TestCitationsAndWebSearchAreTranslated(t *testing.T) {
	t.Parallel()
	clients := []struct{ path, body, cited string }{
		{
			"/chat/completions", `{"model":%q,"stream":%t,"web_search_options":{"user_location":{"type":"approximate","approximate":{"country":"DE"}}},"messages":[{"role":"user","content":"Where is Köln?"}]}`,
			`"url_citation":{"start_index":7,"end_index":27,` + rhein + `}`,
		},
		{
			"/responses", `{"model":%q,"stream":%t,"tools":[{"type":"web_search","filters":{"allowed_domains":["example.org"]}}],"input":"Where is Köln?"}`,
			`"type":"url_citation","start_index":7,"end_index":27,` + rhein,
		},
		{
			"/messages", `{"model":%q,"stream":%t,"max_tokens":99,"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["example.org"]}],"messages":[{"role":"user","content":"Where is Köln?"}]}`,
			`"type":"web_search_result_location",` + rhein,
		},
	}
	for model, vendor := range searchVendors() {
		for _, c := range clients {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprint(model, c.path, " stream ", stream), func(t *testing.T) {
					t.Parallel()
					k := newKit(t)
					sent := k.serveSearch()
					resp := k.post(c.path, fmt.Sprintf(c.body, model, stream))
					if resp.status != http.StatusOK || !strings.Contains(resp.body, c.cited) {
						t.Errorf("%d without %s in %s", resp.status, c.cited, resp.body)
					}
					asked, warnings := <-sent, resp.header.Get("X-Fairlead-Warnings")
					if !strings.Contains(asked, vendor.asked) {
						t.Errorf("the request to the vendor lacks %s: %s", vendor.asked, asked)
					}
					e := k.entry()
					fee := ""
					for _, row := range e.Bill.Rows {
						if row.Class == catalog.WebSearch {
							fee = fmt.Sprintf("%d searches, %s", e.Usage.Searches, row.Amount.Display())
						}
					}
					if fee != vendor.fee {
						t.Errorf("charged %q, want %q", fee, vendor.fee)
					}
					restricted := strings.Contains(c.body, "allowed_domains")
					switch {
					case restricted && vendor.allowed != "" && !strings.Contains(asked, vendor.allowed):
						t.Errorf("the search is not restricted by %s: %s", vendor.allowed, asked)
					case restricted && model == "gemini-2.5-pro" && !strings.Contains(warnings, "allowed_domains was dropped"):
						t.Errorf("the dropped restriction is not in the warnings: %q", warnings)
					case model != "gemini-2.5-pro" && vendor.asked != "" && warnings != "":
						t.Errorf("warnings: %q", warnings)
					}
				})
			}
		}
	}
}
