package redaction

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/requestlog"
)

func TestSplitRequestsAreRedactedLikeWholeOnes(t *testing.T) {
	t.Parallel()
	key, err := outline.NewKey(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	var messages []string
	for i := range 40 {
		filler := strings.Repeat("word ", i*7)
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"%s%s and \"%s\" %s"}`, filler, address, address, filler))
	}
	long := strings.Repeat("x", llm.PreviewBytes-5) + " "
	messages = append(messages, `{"role":"user","content":"`+long+address+`"}`)
	request := `{"model":"auto", "note@example.com": "` + address + `", "messages" : [` + strings.Join(messages, ", ") + `], "user":"` + address + `"}`
	rules := &redact.Rules{Builtin: []string{"email"}}
	whole := entryWithAddress()
	whole.Endpoint, whole.Format, whole.BodyState = "chat/completions", "chat", requestlog.BodyStored
	whole.Preview = (long + address)[:llm.PreviewBytes]
	whole.Body = requestlog.Body{Request: []byte(request)}
	split := whole
	var ok bool
	if split.Body.Request, split.Body.Parts, ok = key.Scope("ws").Split(whole.Body.Request, nil, func(outline.Address) bool { return false }); !ok {
		t.Fatal("the request was not split")
	}
	split.Body.Split, split.Preview = true, PreviewSource(&whole)

	prepareOne(newTestRedaction(rules), &whole)
	prepareOne(newTestRedaction(rules), &split)

	got := split.Body.JoinedRequest()
	if !bytes.Equal(got, whole.Body.Request) || bytes.Contains(got, []byte(address)) {
		t.Errorf("redacted in parts:\n%s\nredacted as a whole:\n%s", got, whole.Body.Request)
	}
	if split.Preview != whole.Preview || len(split.Preview) > llm.PreviewBytes || strings.Contains(split.Preview, "ann") {
		t.Errorf("preview is %q, want %q", split.Preview, whole.Preview)
	}
}

func TestVersionsOfRulesDiffer(t *testing.T) {
	t.Parallel()
	versions := map[string]bool{}
	for _, r := range []*Filter{
		newTestRedaction(nil), newTestRedaction(&redact.Rules{Builtin: []string{"email"}}), newTestRedaction(&redact.Rules{Builtin: []string{"iban"}}),
		newTestRedaction(&redact.Rules{Custom: []redact.Custom{{Name: "a", Pattern: "b"}}}),
	} {
		versions[r.Version("ws_1")] = true
	}
	if len(versions) != 4 || newTestRedaction(nil).Version("ws_1") != "" {
		t.Errorf("%d versions, want 4 and an empty version without rules: %v", len(versions), versions)
	}
}
