package simulator

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the responses to testdata")

// exchanges are requests of every format. Their responses are in testdata/responses.txt.
var exchanges = []struct{ path, body string }{
	{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hello"}]}`},
	{"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Hello"}]}`},
	{"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"call"}],"tools":[{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]}`},
	{"/v1/completions", `{"model":"m","prompt":["a","b"],"echo":true}`},
	{"/v1/completions", `{"model":"m","prompt":"a","stream":true}`},
	{"/v1/responses", `{"model":"m","input":"Hello","reasoning":{"summary":"auto"},"include":["reasoning.encrypted_content"]}`},
	{"/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"call"}]}],"tools":[{"type":"function","name":"add"}]}`},
	{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"call"}],"tools":[{"name":"add"}]}`},
	{"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}`},
	{"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"Hello"}]}`},
	{"/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"call"}]}],"tools":[{"functionDeclarations":[{"name":"add"}]}]}`},
	{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"Hello"}]}]}`},
	{"/v1beta/models/m:embedContent", `{"content":{"parts":[{"text":"Hello"}]}}`},
	{"/model/a.b%3A0/converse", `{"messages":[{"role":"user","content":[{"text":"call"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"add","inputSchema":{"json":{"type":"object"}}}}]}}`},
	{"/model/a.b%3A0/converse-stream", `{"messages":[{"role":"user","content":[{"text":"Hello"}]}]}`},
	{"/v1/embeddings", `{"model":"m","input":["a","b"]}`},
	{"/v1/moderations", `{"model":"m","input":["I will kill you."]}`},
	{"/v1/audio/speech", `{"model":"m","input":"Hello"}`},
	{"/v1/audio/transcriptions", ``},
	{"/v1/images/generations", `{"model":"m","prompt":"a boat"}`},
	{"/v1/rerank", `{"model":"m","documents":["a","b"]}`},
	{"/v1/batches", `{"input_file_id":"file-none"}`},
}

// TestResponsesOfEveryFormat compares the responses with testdata/responses.txt. Run it with -update to write the file.
func TestResponsesOfEveryFormat(t *testing.T) {
	t.Parallel()
	m := NewMock()
	m.Always(Behaviour{Reply: func(call *Call) *Reply {
		c := call.Read()
		r := NewReply(c)
		r.AddThinking("Thinking.", false)
		if c.Prompt() == "call" {
			r.AddCalls(c, c.RequiredCall())
		} else {
			r.AddText(c, "Grüße, 日本語, 🚀.")
		}
		return r
	}})
	var got strings.Builder
	for _, e := range exchanges {
		resp := post(t, m, e.path, e.body)
		body, err := readAll(resp)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/vnd.amazon") {
			body = fmt.Sprintf("%q", body)
		}
		fmt.Fprintf(&got, "POST %s %s\n%d %s\n%s\n\n", e.path, e.body, resp.StatusCode, resp.Header.Get("Content-Type"), strings.TrimSpace(body))
	}
	const path = "testdata/responses.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
}

func TestErrorsOfEveryFormat(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/chat/completions":             `{"error":{"code":null,"message":"mock failure 429","param":null,"type":"requests"}}`,
		"/v1/messages":                     `{"error":{"message":"mock failure 429","type":"rate_limit_error"},"type":"error"}`,
		"/v1beta/models/m:generateContent": `{"error":{"code":429,"message":"mock failure 429","status":"RESOURCE_EXHAUSTED"}}`,
		"/model/m/converse":                `{"message":"mock failure 429"}`,
	} {
		m := NewMock()
		m.Always(Fail(429))
		if got, err := readAll(post(t, m, path, `{}`)); got != want || err != nil {
			t.Errorf("%s: error %s, %v; want %s", path, got, err, want)
		}
	}
}
