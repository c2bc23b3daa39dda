package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/route"
)

// modelCall is a call that a provider received.
type modelCall struct{ credential, body string }

// referenceKit returns a gateway whose provider openai has two accounts with files. The workspaces of the keys good and stranger each own
// one file of the first account. The workspace of good also owns one file of the second account. calls receives the model calls.
func referenceKit(t *testing.T) (k *kit, calls *[]modelCall) {
	t.Helper()
	k, files := batchKit(t)
	calls = new([]modelCall)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") && !strings.HasSuffix(r.URL.Path, "/responses") {
			files.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		*calls = append(*calls, modelCall{r.Header.Get("Authorization"), string(body)})
		switch {
		case strings.HasSuffix(r.URL.Path, "/chat/completions"):
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","model":"large-2026","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		default:
			_, _ = io.WriteString(w, storedResponse)
		}
	})
	able := func(price float64) *provider.Target {
		t := target("large", price, price)
		t.Model.Abilities |= llm.Vision | llm.Files
		return t
	}
	large := able(2)
	large.Provider = "openai"
	offering := compatible.New(compatible.Row{Name: "openai", ChatPath: "/chat/completions", ResponsesPath: "/responses", Batches: true}, provider.Settings{
		BaseURL: k.vendor("openai", server).BaseURL, Targets: []*provider.Target{large},
		Credentials: []provider.Credential{{ID: "openai#1", Secret: "sk-one", Source: "test"}, {ID: "openai#2", Secret: "sk-two", Source: "test"}},
	})
	k.snapshot = route.NewSnapshot(defaultCatalog(t), []*provider.Provider{offering, k.vendor("other", server, able(1))}, nil)
	k.gateway.Update(k.settings, k.snapshot)
	for _, o := range []batch.Object{
		{WorkspaceID: "ws_2", ID: "file-stranger", Credential: "openai#1"},
		{WorkspaceID: "ws_1", ID: "file-own", Credential: "openai#1"},
		{WorkspaceID: "ws_1", ID: "file-two", Credential: "openai#2"},
		{WorkspaceID: "ws_1", ID: "file-gone", Credential: "openai#9"},
	} {
		o.Kind, o.Provider = batch.File, "openai"
		k.objects.list = append(k.objects.list, o)
	}
	return k, calls
}

// fileRequests contains a request for every member that refers to a file. The placeholder ID stands for the file id.
var fileRequests = map[string]struct{ path, body string }{
	"chat":          {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"ID"}}]}]}`},
	"chat, escaped": {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file\u005fid":"ID"}}]}]}`},
	"chat, earlier message": {
		"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"file","file":{"file_id":"ID"}}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
	},
	"chat, unknown part":     {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"image_file","image_file":{"file_id":"ID"}}]}]}`},
	"chat, member of a part": {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"input_file","file_id":"ID"}]}]}`},
	"chat, tool": {
		"/chat/completions", `{"model":"large","messages":[{"role":"user","content":"a"}],"tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["ID"]}}]}`,
	},
	"responses, file":                {"/responses", `{"model":"large","input":[{"role":"user","content":[{"type":"input_file","file_id":"ID"}]}]}`},
	"responses, image":               {"/responses", `{"model":"large","input":[{"role":"user","content":[{"type":"input_image","file_id":"ID"}]}]}`},
	"responses, content before role": {"/responses", `{"model":"large","input":[{"content":[{"type":"input_file","file_id":"ID"}],"role":"user"}]}`},
	"responses, result": {
		"/responses", `{"model":"large","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","file_id":"ID"}]}]}`,
	},
	"responses, screenshot": {
		"/responses", `{"model":"large","input":[{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","file_id":"ID"}}]}`,
	},
	"responses, tool": {
		"/responses", `{"model":"large","input":"a","tools":[{"type":"code_interpreter","container":{"type":"auto","file_ids":["ID"]}}]}`,
	},
	"responses, mask of an image": {
		"/responses", `{"model":"large","input":"a","tools":[{"type":"image_generation","input_image_mask":{"file_id":"ID"}}]}`,
	},
	"responses, prompt": {"/responses", `{"model":"large","prompt":{"id":"pmpt_1","variables":{"x":{"type":"input_file","file_id":"ID"}}}}`},
	"messages, image":   {"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"ID"}}]}]}`},
	"messages, document": {
		"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"file","file_id":"ID"}}]}]}`,
	},
	"messages, content of a document": {
		"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"file","file_id":"ID"}}]}}]}]}`,
	},
	"messages, container": {"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"ID"}]}]}`},
	"messages, result": {
		"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"file","file_id":"ID"}}]}]}]}`,
	},
	"gemini":        {"/models/large:generateContent", `{"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"ID"}}]}]}`},
	"gemini, snake": {"/models/large:generateContent", `{"contents":[{"parts":[{"file_data":{"mime_type":"image/png","file_uri":"ID"}}]}]}`},
	"gemini, result": {
		"/models/large:generateContent", `{"contents":[{"parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"fileData":{"mimeType":"image/png","fileUri":"ID"}}]}}]}]}`,
	},
}

func TestFilesOfOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	k, calls := referenceKit(t)
	for name, tc := range fileRequests {
		got := k.send("good", http.MethodPost, tc.path, strings.ReplaceAll(tc.body, "ID", "file-stranger"))
		if got.status != http.StatusNotFound || got.header.Get("X-Fairlead-Error-Code") != "NOT_FOUND" || !strings.Contains(got.body, "was not found") || len(*calls) > 0 {
			t.Errorf("%s: %d %s, %d calls", name, got.status, got.body, len(*calls))
		}
	}
}

// Operators upload files directly at the provider, so an id without a record reaches the provider as the client sent it.
func TestFilesWithoutARecordReachTheProvider(t *testing.T) {
	t.Parallel()
	k, calls := referenceKit(t)
	for name, tc := range fileRequests {
		for _, id := range []string{"file-unknown", "files/abc", "https://generativelanguage.googleapis.com/v1beta/files/abc", strings.Repeat("a", 2000)} {
			*calls = nil
			body, want := strings.ReplaceAll(tc.body, "ID", id), ""
			if members, ok := strings.CutPrefix(body, `{"model":"large",`); ok && tc.path != "/messages" { // other formats are translated for openai
				body, want = `{"provider":{"only":["openai"]},"model":"large",`+members, strings.TrimSuffix(members, "}")
			}
			got := k.send("good", http.MethodPost, tc.path, body)
			if got.status != http.StatusOK || len(*calls) != 1 || !strings.Contains((*calls)[0].body, want) {
				t.Errorf("%s, %.50s: %d %s, calls %v", name, id, got.status, got.body, *calls)
			}
		}
	}
}

func TestRequestsWithFilesReachTheAccountOfTheFile(t *testing.T) {
	t.Parallel()
	k, calls := referenceKit(t)
	for _, name := range []string{"chat", "chat, tool", "responses, file", "responses, tool", "responses, prompt"} {
		for id, want := range map[string]string{"file-own": "Bearer sk-one", "file-two": "Bearer sk-two"} {
			*calls = nil
			tc := fileRequests[name]
			got := k.send("good", http.MethodPost, tc.path, strings.ReplaceAll(tc.body, "ID", id))
			if got.status != http.StatusOK || len(*calls) != 1 || (*calls)[0].credential != want {
				t.Errorf("%s, %s: %d %s, calls %v", name, id, got.status, got.body, *calls)
			}
		}
	}
	*calls = nil
	chat := func(members, parts string) string {
		return `{"model":"large",` + members + `"messages":[{"role":"user","content":[` + parts + `]}]}`
	}
	const own, two = `{"type":"file","file":{"file_id":"file-own"}}`, `{"type":"file","file":{"file_id":"file-two"}}`
	for name, tc := range map[string]struct {
		body, path, want string
		status           int
	}{
		"two accounts":      {chat("", own+","+two), "/chat/completions", "several provider accounts", 400},
		"excluded provider": {chat(`"provider":{"only":["other"]},`, own), "/chat/completions", "provider.only excludes", 400},
		"removed account":   {chat("", `{"type":"file","file":{"file_id":"file-gone"}}`), "/chat/completions", "removed from the configuration", 404},
		"response of another account": {
			`{"model":"large","input":[{"role":"user","content":[{"type":"input_file","file_id":"file-own"}]}],"previous_response_id":"` + sealed("openai#2", "resp_1") + `"}`, "/responses", "several provider accounts", 400,
		},
		"too many files": {chat("", strings.TrimSuffix(manyFiles(llm.MaxStoredFiles+1), ",")), "/chat/completions", "more than 500", 400},
		"other spelling": {chat("", `{"type":"file","file":{"File_ID":"file-stranger"}}`), "/chat/completions", "differs from", 400},
	} {
		got := k.send("good", http.MethodPost, tc.path, tc.body)
		if got.status != tc.status || !strings.Contains(got.body, tc.want) || len(*calls) > 0 {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// manyFiles returns n content parts, each with a different file id.
func manyFiles(n int) string {
	var parts strings.Builder
	for i := range n {
		fmt.Fprintf(&parts, `{"type":"file","file":{"file_id":"file-%d"}},`, i)
	}
	return parts.String()
}

// Addresses, and ids in labels, tool arguments and earlier results, are not references to files of the account.
func TestAddressesAndLabelsAreNotFiles(t *testing.T) {
	t.Parallel()
	k, _ := referenceKit(t)
	for name, tc := range map[string]struct{ path, body string }{
		"metadata":   {"/chat/completions", `{"model":"large","metadata":{"file_id":"file-stranger"},"messages":[{"role":"user","content":"a"}]}`},
		"function":   {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"file_ids":{"type":"array"}},"default":{"file_id":"file-stranger"}}}}]}`},
		"URL":        {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"https://example.com/a.pdf"}}]}]}`},
		"bucket":     {"/chat/completions", `{"model":"large","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"gs://bucket/a.pdf"}}]}]}`},
		"annotation": {"/responses", `{"model":"large","input":[{"role":"user","content":"a"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"file_citation","file_id":"file-stranger"}]}]},{"role":"user","content":"c"}]}`},
		"record":     {"/responses", `{"model":"large","input":[{"role":"user","content":"a"},{"type":"file_search_call","id":"fs","results":[{"file_id":"file-stranger"}]}]}`},
		"arguments":  {"/messages", `{"model":"large","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"file_id":"file-stranger"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"b"}]}]}`},
	} {
		if got := k.send("good", http.MethodPost, tc.path, tc.body); got.status != http.StatusOK {
			t.Errorf("%s: status %d, want 200: %s", name, got.status, got.body)
		}
	}
}

// The gateway does not create vector stores and conversations, so their ids reach the provider.
func TestOtherObjectsReachTheProvider(t *testing.T) {
	t.Parallel()
	k, calls := referenceKit(t)
	const store = `"tools":[{"type":"file_search","vector_store_ids":["file-stranger"]}]`
	for _, only := range []string{"", `"provider":{"only":["openai"]},`} {
		got := k.send("good", http.MethodPost, "/responses", `{"model":"large",`+only+`"input":"a",`+store+`}`)
		if got.status != http.StatusOK || !strings.Contains((*calls)[len(*calls)-1].body, store) {
			t.Errorf("%d %s, calls %v", got.status, got.body, *calls)
		}
	}
	for _, conversation := range []string{`"conv_1"`, `{"id":"conv_1"}`} {
		line := `{"custom_id":"b","method":"POST","url":"/v1/responses","body":{"input":"a",` + store + `,"conversation":` + conversation + `,"model":"large"}}` + "\n"
		if got := k.upload("good", line); got.status != http.StatusOK {
			t.Errorf("batch with conversation %s: status %d, want 200: %s", conversation, got.status, got.body)
		}
	}
}

// A cached owner is replaced when this replica adds or deletes the record of the file.
func TestRecordsReplaceKeptOwners(t *testing.T) {
	t.Parallel()
	k, calls := referenceKit(t)
	ask := func(key, id string) clientResponse {
		*calls = nil
		return k.send(key, http.MethodPost, "/chat/completions", strings.ReplaceAll(fileRequests["chat"].body, "ID", id))
	}
	if got := ask("stranger", "file-0"); got.status != http.StatusOK {
		t.Fatalf("before the upload: status %d, want 200: %s", got.status, got.body)
	}
	if got := k.upload("good", batchLine("large")); got.status != http.StatusOK || !strings.Contains(got.body, `"file-0"`) {
		t.Fatalf("upload: %d %s", got.status, got.body)
	}
	if got := ask("stranger", "file-0"); got.status != http.StatusNotFound || len(*calls) > 0 {
		t.Errorf("another workspace after the upload: %d %s", got.status, got.body)
	}
	if got := ask("good", "file-0"); got.status != http.StatusOK || len(*calls) != 1 || (*calls)[0].credential != "Bearer sk-one" {
		t.Errorf("after the upload: %d %s, calls %v", got.status, got.body, *calls)
	}
	if got := k.send("good", http.MethodDelete, "/files/file-0", ""); got.status != http.StatusOK {
		t.Fatalf("delete: status %d, want 200: %s", got.status, got.body)
	}
	if got := ask("stranger", "file-0"); got.status != http.StatusOK || len(*calls) != 1 {
		t.Errorf("after the deletion: %d %s", got.status, got.body)
	}
}
