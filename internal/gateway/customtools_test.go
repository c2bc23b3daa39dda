package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/route"
)

// TestCustomToolReachesProvidersThatHaveOnlyFunctions sends the free-text tool of a coding agent to a chat provider without custom tools:
// the call in the history is translated for the provider, and the new call for the client.
func TestCustomToolReachesProvidersThatHaveOnlyFunctions(t *testing.T) {
	t.Parallel()
	clients := []struct{ path, body, want string }{
		{
			"/responses", `{"model":"auto","stream":%t,"tools":[{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: x"}}],` +
				`"input":[{"role":"user","content":"edit"},{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"first"},{"type":"custom_tool_call_output","call_id":"c1","output":"done"}]}`,
			`"type":"custom_tool_call"`,
		},
		{
			"/chat/completions", `{"model":"auto","stream":%t,"seed":7,"tool_choice":{"type":"custom","custom":{"name":"apply_patch"}},` +
				`"tools":[{"type":"custom","custom":{"name":"apply_patch","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: x"}}}}],` +
				`"messages":[{"role":"user","content":"edit"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"custom","custom":{"name":"apply_patch","input":"first"}}]},` +
				`{"role":"tool","tool_call_id":"c1","content":"done"}]}`,
			`"type":"custom","custom":{"name":"apply_patch",`,
		},
	}
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(c.path, " stream ", stream), func(t *testing.T) {
				t.Parallel()
				sent := make(chan string, 1)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					sent <- string(body)
					if !stream {
						w.Header().Set("Content-Type", "application/json")
						_, _ = io.WriteString(w, `{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function",`+
							`"function":{"name":"apply_patch","arguments":"{\"input\":\"sec\\nond\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":9}}`)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					chunk := `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0%s,"function":{%s"arguments":%q}}]},"finish_reason":null}]}` + "\n\n"
					_, _ = fmt.Fprintf(w, chunk, `,"id":"c2","type":"function"`, `"name":"apply_patch",`, `{"input":"sec\n`)
					_, _ = fmt.Fprintf(w, chunk, "", "", `ond"}`)
					_, _ = io.WriteString(w, `data: {"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
				}))
				t.Cleanup(server.Close)
				k := newKit(t)
				k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(t), []*provider.Provider{
					compatible.New(compatible.Row{Name: "plain", ChatPath: "/chat/completions"}, provider.Settings{
						BaseURL: server.URL + "/v1", Targets: []*provider.Target{thinkingTarget("plain", "coder")},
						Credentials: []provider.Credential{{ID: "plain#1", Secret: "s", Source: "test"}},
					}),
				}, nil))

				resp := k.post(c.path, fmt.Sprintf(c.body, stream))

				if resp.status != http.StatusOK || !strings.Contains(resp.body, c.want) || !strings.Contains(resp.body, `"input":"sec\nond"`) {
					t.Errorf("%d without the custom call in %s", resp.status, resp.body)
				}
				got := <-sent
				for _, want := range []string{`"type":"function"`, `start: x`, `"arguments":"{\"input\":\"first\"}"`} {
					if !strings.Contains(got, want) {
						t.Errorf("the provider did not receive %s: %s", want, got)
					}
				}
				if strings.Contains(got, `"custom"`) {
					t.Errorf("the provider received a custom tool: %s", got)
				}
			})
		}
	}
}
