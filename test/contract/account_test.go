package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// An OpenAI account with six models, of which one is not in the catalog. A call of another model fails, as at OpenAI.
func newAccount(t *testing.T) *httptest.Server {
	models := []string{"gpt-6-luna", "gpt-6.1-terra", "gpt-6-sol", "gpt-5.6-luna", "gpt-4.1", "gpt-99-nova"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/models") {
			var list []map[string]string
			for _, name := range models {
				list = append(list, map[string]string{"id": name, "object": "model"})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
			return
		}
		var asked struct{ Model string }
		if body, _ := io.ReadAll(r.Body); json.Unmarshal(body, &asked) != nil || !slices.Contains(models, asked.Model) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"error":{"message":"The model %s does not exist or you do not have access to it.","code":"model_not_found"}}`, asked.Model)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/responses") {
			fmt.Fprintf(w, `{"id":"resp_1","object":"response","created_at":1735689600,"status":"completed","model":%q,"output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}],"usage":{"input_tokens":10,"output_tokens":4,"total_tokens":14}}`, asked.Model)
			return
		}
		fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1735689600,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":4,"total_tokens":14}}`, asked.Model)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestAutoUsesOnlyTheModelsOfTheAccount(t *testing.T) {
	t.Parallel()
	g := start(t, binary(t), "catalog: {discover: 1s}\nproviders:\n  - {name: openai, base_url: "+newAccount(t).URL+"/v1, api_keys: [sk-0123456789abcdef]}\n")
	g.makeKey("TWENTY", "--budget 20 --period month")
	g.makeKey("HALF", "--budget 0.50 --period month")
	ask := func(key, prompt string) (answer message, trace struct {
		Decision string
		Trace    struct {
			Candidates []struct {
				Model    string
				Excluded any
			}
		}
	},
	) {
		body, err := json.Marshal(map[string]any{"model": "auto", "messages": []map[string]string{{"role": "user", "content": prompt}}})
		must(t, err)
		answer = g.send(t, section{text: "POST /proxy/v1/chat/completions\nAuthorization: Bearer $" + key + "\nX-Fairlead-Trace: full\n\n" + string(body)})
		var full struct{ Fairlead json.RawMessage }
		must(t, json.Unmarshal([]byte(answer.body), &full))
		if full.Fairlead != nil {
			must(t, json.Unmarshal(full.Fairlead, &trace))
		}
		return answer, trace
	}
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if list := g.send(t, section{text: "GET /proxy/v1/models\n"}); !strings.Contains(list.body, "gpt-5-mini") && strings.Contains(list.body, "gpt-6-luna") {
			break // the list of the account was read
		}
	}
	prompts := []string{
		"What is the capital of Mongolia?", "Is this spelled right: recieve?", "Prove that the square root of 2 is irrational.",
		"Write a Go function that merges overlapping intervals, with tests.", "Translate 'good morning' to French. Reply with the translation only.",
	}
	for i := range 20 {
		answer, trace := ask("KEY", prompts[i%len(prompts)])
		if answer.first != "200" || trace.Decision == "fallback" {
			t.Fatalf("request %d: status %s, decision %s\n%.400s", i+1, answer.first, trace.Decision, answer.body)
		}
		pool := map[string]bool{}
		for _, c := range trace.Trace.Candidates {
			if c.Excluded == nil {
				pool[c.Model] = true
			}
		}
		if len(pool) == 0 || len(pool) > 6 {
			t.Errorf("request %d: %d models in the pool", i+1, len(pool))
		}
	}
	for key, prompt := range map[string]string{
		"TWENTY": strings.Repeat("The quick brown fox jumps over the lazy dog. ", 4_500) + "Summarise this text.",
		"HALF":   strings.Repeat("The quick brown fox jumps over the lazy dog. ", 50) + "Summarise this text.",
	} {
		if answer, _ := ask(key, prompt); answer.first != "200" {
			t.Errorf("%s: status %s\n%.400s", key, answer.first, answer.body)
		}
	}
}
