package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func text1(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Parts: parts} }

func model(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func result(id, content string) llm.Part {
	return llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Parts: []llm.Part{text1(content)}}}
}

func media(kind llm.PartKind, m llm.Media) llm.Part { return llm.Part{Kind: kind, Media: &m} }

var newestTraits = TraitsOf("gemini-3.8-flash")

// rendered encodes a conversation and returns one member of the request and the warnings.
func rendered(t *testing.T, conv llm.Conversation, o RenderOptions, member string) (string, []string) {
	t.Helper()
	body, warnings, err := Render(t.Context(), &conv, o)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := readMembers(body)
	if !ok {
		t.Fatalf("the request is not an object: %s", body)
	}
	return string(m.get(member)), warnings
}

func TestContents(t *testing.T) {
	t.Parallel()
	signed := llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "sig", Provider: "g"}}
	foreign := llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "no", Provider: "anthropic"}}
	own := llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "1", Name: "f", Arguments: "{}", Signature: "mine", Provider: "g"}}
	other := llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: "1", Name: "f", Arguments: "{}", Signature: "theirs", Provider: "x"}}
	for name, tc := range map[string]struct {
		messages []llm.Message
		traits   Traits
		want     string
	}{
		"adjacent messages of a role are joined, and empty texts are dropped": {
			[]llm.Message{user(text1("a")), user(text1(""), text1("b")), model(text1("")), model(text1("c"))},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]}]`,
		},
		"results are in the order of their calls, before other user content": {
			[]llm.Message{user(text1("a")), model(call("1", "f", `{"x": 1.50}`), call("2", "g", "")), user(text1("b"), result("2", `{"z":1,"a":2}`), result("1", "[1]"))},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":1.50}}},{"functionCall":{"name":"g","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"[1]"}}},{"functionResponse":{"name":"g","response":{"z":1,"a":2}}}]},{"role":"user","parts":[{"text":"b"}]}]`,
		},
		"arguments that are not an object": {
			[]llm.Message{user(text1("a")), model(call("1", "f", `{"x":`), call("2", "f", `null`))},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"arguments":"{\"x\":"}}},{"functionCall":{"name":"f","args":{}}}]}]`,
		},
		"a failed result with its own name": {
			[]llm.Message{user(llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "9", Name: "f", Failed: true, Parts: []llm.Part{text1("no"), text1("way")}}})},
			Traits{},
			`[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"error":"no\nway"}}}]}]`,
		},
		"a result with an image": {
			[]llm.Message{user(llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{Name: "f", Parts: []llm.Part{media(llm.ImagePart, llm.Media{Type: "image/png", Data: "AA=="})}}})},
			Traits{},
			`[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":""}}},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}]`,
		},
		"the signature of thinking moves to the following text": {
			[]llm.Message{user(text1("a")), model(signed, text1("b"), text1("c"))},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b","thoughtSignature":"sig"},{"text":"c"}]}]`,
		},
		"the signature of thinking moves to the last text": {
			[]llm.Message{user(text1("a")), model(text1("b"), signed)},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b","thoughtSignature":"sig"}]}]`,
		},
		"the signature of thinking moves to an empty text": {
			[]llm.Message{user(text1("a")), model(signed, own)},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}},"thoughtSignature":"mine"},{"text":"","thoughtSignature":"sig"}]}]`,
		},
		"thinking of other providers is not sent": {
			[]llm.Message{user(text1("a")), model(foreign, text1("b"))},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]}]`,
		},
		"a model that requires no signatures gets no foreign ones": {
			[]llm.Message{user(text1("a")), model(other)},
			Traits{},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}]`,
		},
		"a model that requires signatures gets a placeholder on the first call": {
			[]llm.Message{user(text1("a")), model(other, call("2", "g", ""))},
			Traits{NeedsSignatures: true, CallIDs: true},
			`[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"2","name":"g","args":{}}}]}]`,
		},
		"media": {
			[]llm.Message{user(
				media(llm.ImagePart, llm.Media{URL: "https://x.test/a.JPG?b=1"}), media(llm.FilePart, llm.Media{FileID: "files/abc", Type: "application/pdf"}),
				media(llm.AudioPart, llm.Media{Data: "SUQz", Type: "application/octet-stream"}), media(llm.FilePart, llm.Media{URL: "gs://b/f.txt"}),
				media(llm.ImagePart, llm.Media{Data: "AA==", Type: "IMAGE/PNG; x=y"}),
			)},
			newestTraits,
			`[{"role":"user","parts":[{"fileData":{"mimeType":"image/jpeg","fileUri":"https://x.test/a.JPG?b=1"}},{"fileData":{"mimeType":"application/pdf","fileUri":"files/abc"}},` +
				`{"inlineData":{"mimeType":"audio/mp3","data":"SUQz"}},{"fileData":{"mimeType":"text/plain","fileUri":"gs://b/f.txt"}},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := rendered(t, llm.Conversation{Messages: tc.messages}, RenderOptions{Traits: tc.traits, Provider: "g"}, "contents")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	system := llm.Message{Role: llm.System, Parts: []llm.Part{text1("Be brief.")}}
	for name, tc := range map[string]struct {
		messages []llm.Message
		traits   Traits
		want     string
	}{
		"are in a separate member": {
			[]llm.Message{user(text1("a")), system, system},
			Traits{},
			`{"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"a"}]}]}`,
		},
		"come first for a model without that member": {
			[]llm.Message{user(text1("a")), system},
			Traits{NoSystem: true},
			`{"contents":[{"role":"user","parts":[{"text":"Be brief."},{"text":"a"}]}]}`,
		},
		"also before a model turn": {
			[]llm.Message{system, model(text1("a"))},
			Traits{NoSystem: true},
			`{"contents":[{"role":"user","parts":[{"text":"Be brief."}]},{"role":"model","parts":[{"text":"a"}]}]}`,
		},
		"alone become a user message": {
			[]llm.Message{system},
			Traits{},
			`{"contents":[{"role":"user","parts":[{"text":"Be brief."}]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body, _, err := Render(t.Context(), &llm.Conversation{Messages: tc.messages}, RenderOptions{Traits: tc.traits})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnsupportedContentIsRejected(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]llm.Message{
		"a result without its call":  user(result("lost", "x")),
		"an image by URL":            user(media(llm.ImagePart, llm.Media{URL: "https://x.test/a.png"})),
		"an image of unknown type":   user(media(llm.ImagePart, llm.Media{URL: "https://x.test/a"})),
		"bytes of unknown type":      user(media(llm.FilePart, llm.Media{Data: "AAAA"})),
		"a file of another provider": user(media(llm.FilePart, llm.Media{FileID: "file-abc", Name: "a.pdf"})),
		"an image in a result":       user(llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{Name: "f", Parts: []llm.Part{media(llm.ImagePart, llm.Media{})}}}),
		"an image of the model":      model(media(llm.ImagePart, llm.Media{})),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Render(t.Context(), &llm.Conversation{Messages: []llm.Message{message}}, RenderOptions{})
			if e := llm.AsError(err); err == nil || e.Kind != llm.Untranslatable || e.Param != "messages" {
				t.Errorf("Render: %v, want Untranslatable for messages", err)
			}
		})
	}
	endless := json.RawMessage(strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100))
	for param, conv := range map[string]llm.Conversation{
		"tools":           {Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"properties":{"a":` + string(endless) + `}}`)}}},
		"response_format": {Output: llm.Output{Kind: llm.OutputSchema, Schema: endless}},
	} {
		if _, _, err := Render(t.Context(), &conv, RenderOptions{}); llm.AsError(err).Param != param {
			t.Errorf("Render: %[2]v, want an error for %[1]s", param, err)
		}
	}
}

func TestConversationBeginsWithTheUser(t *testing.T) {
	t.Parallel()
	const added = `{"role":"user","parts":[{"text":"…"}]}`
	system := llm.Message{Role: llm.System, Parts: []llm.Part{text1("Be brief.")}}
	for name, tc := range map[string]struct {
		messages []llm.Message
		traits   Traits
		want     string
		warned   bool
	}{
		"the model's turn is first": {
			[]llm.Message{system, model(text1("a")), user(text1("b"))},
			newestTraits,
			`[` + added + `,{"role":"model","parts":[{"text":"a"}]},{"role":"user","parts":[{"text":"b"}]}]`, true,
		},
		"an empty user turn is not sent": {
			[]llm.Message{user(text1("")), model(text1("a"))},
			newestTraits,
			`[` + added + `,{"role":"model","parts":[{"text":"a"}]}]`, true,
		},
		"instructions are the first user turn": {
			[]llm.Message{system, model(text1("a"))},
			TraitsOf("gemma-3-27b-it"),
			`[{"role":"user","parts":[{"text":"Be brief."}]},{"role":"model","parts":[{"text":"a"}]}]`, false,
		},
	} {
		got, warnings := rendered(t, llm.Conversation{Messages: tc.messages}, RenderOptions{Traits: tc.traits}, "contents")
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if warned := strings.Contains(strings.Join(warnings, " "), "a user message was added"); warned != tc.warned {
			t.Errorf("%s: warnings %q, want one about an added message = %t", name, warnings, tc.warned)
		}
	}
}
