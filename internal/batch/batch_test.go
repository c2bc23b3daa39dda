package batch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/llm"
)

const head = "--b1\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"in.jsonl\"\r\n\r\n"

func read(t *testing.T, content string) (*batch.Form, error) {
	t.Helper()
	return batch.ReadForm("multipart/form-data; boundary=b1", []byte(head+content+"\r\n--b1--\r\n"))
}

func TestModelsAreRenamedInPlace(t *testing.T) {
	t.Parallel()
	form, err := read(t, `{"custom_id":"é","url":"/v1/chat/completions","body":{"x":{"model":"inner"},"model":"a","n":1.0}}`+"\r\n\n"+`{"url":"/v1/embeddings","body":{"model":"b"}}`)
	if err != nil {
		t.Fatal(err)
	}
	uses, err := form.Models(t.Context())
	if diff := cmp.Diff([]batch.Use{{Model: "a", Op: llm.Chat, Requests: 1, Bytes: 43, Unlimited: 1}, {Model: "b", Op: llm.Embed, Requests: 1, Bytes: 13, Unlimited: 1}}, uses); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := form.Rename(t.Context(), func(model string) string { return model + `"2` }, nil); err != nil {
		t.Fatal(err)
	}
	body, kind, err := form.Encode()
	want := `{"custom_id":"é","url":"/v1/chat/completions","body":{"x":{"model":"inner"},"model":"a\"2","n":1.0}}` + "\n" + `{"url":"/v1/embeddings","body":{"model":"b\"2"}}` + "\n"
	if err != nil || !strings.Contains(string(body), want) || !strings.Contains(string(body), `filename="in.jsonl"`) || !strings.HasPrefix(kind, "multipart/form-data; boundary=") {
		t.Errorf("%v %s\n%s", err, kind, body)
	}
}

func TestFormsAreChecked(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"no file":     "--b1\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--b1--\r\n",
		"incomplete":  head + "x",
		"twice":       head + "x\r\n" + head + "x\r\n--b1--\r\n",
		"purpose":     strings.Replace(head, "batch", "assistants", 1) + "x\r\n--b1--\r\n",
		"empty":       head + "\r\n--b1--\r\n",
		"not a form":  `{}`,
		"many fields": strings.Repeat("--b1\r\n\r\n\r\n", 40) + "--b1--\r\n",
		"two names":   head + "x\r\n--b1\r\nContent-Disposition: form-data; name=\"a\"; name=\"file\"\r\n\r\ny\r\n--b1--\r\n",
		"other case":  head + "x\r\n--b1\r\nContent-Disposition: form-data; name=\"File\"\r\n\r\ny\r\n--b1--\r\n",
		"no name":     head + "x\r\n--b1\r\nContent-Disposition: form-data\r\n\r\ny\r\n--b1--\r\n",
	} {
		if _, err := batch.ReadForm("multipart/form-data; boundary=b1", []byte(body)); err == nil || llm.AsError(err).Kind != llm.InvalidRequest {
			t.Errorf("%s: got %v, want InvalidRequest", name, err)
		}
	}
	if _, err := batch.ReadForm("application/json", nil); err == nil {
		t.Error("a form without a boundary is accepted")
	}
}

func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		members string
		want    batch.Use
	}{
		"limit":          {`"max_tokens":100`, batch.Use{Output: 100}},
		"largest limit":  {`"max_tokens":1,"max_completion_tokens":1e2,"n":2.0`, batch.Use{Output: 200}},
		"no limit":       {`"n":3`, batch.Use{Unlimited: 3}},
		"negative limit": {`"max_output_tokens":-5`, batch.Use{Unlimited: 1}},
		"huge limit":     {`"max_tokens":1e300`, batch.Use{Output: batch.MaxOutput}},
		"image":          {`"messages":[{"content":[{"type":"image_url","image_url":{}}]}],"max_tokens":1`, batch.Use{Output: 1, Unsized: 1}},
		"escaped name":   {`"messages":[{"content":[{"type":"im\u0061ge_url"}]}],"max_tokens":1`, batch.Use{Output: 1, Unsized: 1}},
	} {
		body := `{"model":"a",` + tc.members + `}`
		form, err := read(t, `{"url":"/v1/chat/completions","body":`+body+`}`)
		if err != nil {
			t.Fatal(err)
		}
		uses, err := form.Models(t.Context())
		tc.want.Model, tc.want.Op, tc.want.Requests = "a", llm.Chat, 1
		if tc.want.Unsized == 0 {
			tc.want.Bytes = int64(len(body))
		}
		if diff := cmp.Diff([]batch.Use{tc.want}, uses); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestMembersThatLookLikeOthersAreRejected(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"url":"/v1/embeddings","body":{"model":"b","Model":"c"}}`, `{"url":"/v1/embeddings","body":{"model":"b","N":9}}`,
		`{"url":"/v1/embeddings","body":{"model":"b","model\u0000":"c"}}`,
		`{"url":"/v1/embeddings","Body":{},"body":{"model":"b"}}`, `{"url":"/v1/embeddings","URL":"/v1/responses","body":{"model":"b"}}`,
	} {
		form, err := read(t, line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := form.Models(t.Context()); err == nil || llm.AsError(err).Kind != llm.InvalidRequest {
			t.Errorf("%s: got %v, want InvalidRequest", line, err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add(`{"url":"/v1/embeddings","body":{"model":"b"}}`)
	f.Add(`{"url":"/v1/embeddings","body":{"model":1}}`)
	f.Fuzz(func(t *testing.T, content string) {
		form, err := read(t, content)
		if err != nil {
			return
		}
		if _, err := form.Models(t.Context()); err != nil {
			return
		}
		if err := form.Rename(t.Context(), func(string) string { return "up" }, func(_, id string) (string, error) { return id, nil }); err != nil {
			t.Fatal(err)
		}
		uses, err := form.Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range uses {
			if use.Model != "up" {
				t.Fatalf("Models(%q) has %q, want up", content, use.Model)
			}
		}
	})
}
