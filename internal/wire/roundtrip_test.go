package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/bedrock"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// encoders lists the functions that encode conversations for providers. If clients use the same format, the entry also has the client
// format, which can decode the result.
var encoders = []struct {
	name   string
	format wire.Format // client format; nil if clients cannot use the format
	encode func(t *rapid.T, conv *llm.Conversation) (body []byte, lost []string)
}{
	{"chat", openai.Format{}, func(_ *rapid.T, conv *llm.Conversation) ([]byte, []string) {
		return openai.EncodeRequest(conv, openai.EncodeOptions{Model: "m", Accepts: openai.Accepts{AllowedTools: true}})
	}},
	{"messages", anthropic.Format{}, func(t *rapid.T, conv *llm.Conversation) ([]byte, []string) {
		body, lost, err := anthropic.Render(t.Context(), conv, anthropic.RenderOptions{Model: "m", Signer: "p"})
		if err != nil {
			t.Fatal(err)
		}
		return body, lost
	}},
	{"responses", responses.Format{}, func(_ *rapid.T, conv *llm.Conversation) ([]byte, []string) {
		return responses.Render(conv, responses.RenderOptions{Model: "m", Signer: "p"})
	}},
	{"gemini", nil, func(t *rapid.T, conv *llm.Conversation) ([]byte, []string) {
		body, lost, err := gemini.Render(t.Context(), conv, gemini.RenderOptions{Provider: "p"})
		if err != nil {
			t.Fatal(err)
		}
		return body, lost
	}},
	{"converse", nil, func(t *rapid.T, conv *llm.Conversation) ([]byte, []string) {
		body, lost, err := bedrock.Render(t.Context(), conv, bedrock.RenderOptions{Dialect: bedrock.Dialect{Title: "B"}})
		if err != nil {
			t.Fatal(err)
		}
		return body, lost
	}},
}

// drawn generates a random conversation with tool calls and results. Every text is unique, which makes lost, repeated or misplaced texts
// detectable.
type drawn struct {
	t    *rapid.T
	conv llm.Conversation
	n    int
}

// conversations generates a conversation with up to 1,000 turns, but usually only a few.
func conversations(t *rapid.T) *llm.Conversation {
	d := &drawn{t: t}
	d.conv.Choices = 1
	for _, name := range []string{"look", "write"} {
		d.conv.Tools = append(d.conv.Tools, llm.Tool{Name: name, Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)})
	}
	if rapid.Bool().Draw(t, "system") {
		d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.System, Parts: []llm.Part{d.text()}})
	}
	turns := rapid.IntRange(1, 20).Draw(t, "turns")
	if rapid.IntRange(0, 30).Draw(t, "slow") == 0 {
		turns = rapid.IntRange(500, 1000).Draw(t, "many turns")
	}
	for len(d.conv.Messages) < turns {
		d.question()
		if rapid.Bool().Draw(t, "tools") {
			d.calls()
		}
		d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{d.text()}})
	}
	d.question()
	return &d.conv
}

func (d *drawn) text() llm.Part {
	d.n++
	sign := rapid.SampledFrom([]string{"", " ä", " \"q\" \\", " 🚀", " <&>", "\n\tline"}).Draw(d.t, "sign")
	return llm.Part{Kind: llm.TextPart, Text: fmt.Sprintf("text-%d-%s.", d.n, sign)}
}

func (d *drawn) question() {
	parts := []llm.Part{d.text()}
	for range rapid.IntRange(0, 2).Draw(d.t, "images") {
		d.n++
		// The length of the base64 data is a multiple of four, so it needs no padding, and each number produces different data.
		parts = append(parts, llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: fmt.Sprintf("iVBORw0K%08d", d.n)}})
		if rapid.Bool().Draw(d.t, "more text") {
			parts = append(parts, d.text())
		}
	}
	d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.User, Parts: parts})
}

// calls adds parallel calls and their results in any order.
func (d *drawn) calls() {
	var calls, results []llm.Part
	if rapid.Bool().Draw(d.t, "thinking") {
		d.n++
		thinking := llm.Thinking{Text: fmt.Sprintf("thought-%d", d.n), Signature: "s", Provider: rapid.SampledFrom([]string{"p", "other"}).Draw(d.t, "signer")}
		calls = append(calls, llm.Part{Kind: llm.ThinkingPart, Thinking: &thinking})
	}
	if rapid.Bool().Draw(d.t, "words") {
		calls = append(calls, d.text())
	}
	for range rapid.IntRange(1, 3).Draw(d.t, "calls") {
		d.n++
		id, name := fmt.Sprintf("call_%d", d.n), rapid.SampledFrom([]string{"look", "write"}).Draw(d.t, "tool")
		calls = append(calls, llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: fmt.Sprintf(`{"a":"arg-%d"}`, d.n)}})
		results = append(results, llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{
			ID: id, Name: name, Parts: []llm.Part{d.text()}, Failed: rapid.Bool().Draw(d.t, "failed"),
		}})
	}
	d.conv.Messages = append(d.conv.Messages, llm.Message{Role: llm.Assistant, Parts: calls}, llm.Message{Role: llm.User, Parts: results})
}

// contents lists the content of the conversation in order. It omits thinking, because signatures are valid at only one provider. If failed
// is true, it marks failed tool results.
func contents(conv *llm.Conversation, failed bool) []string {
	var list []string
	for _, m := range conv.Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.TextPart:
				list = append(list, string(m.Role)+" says "+p.Text)
			case llm.ImagePart:
				list = append(list, string(m.Role)+" shows "+p.Media.Type+" "+p.Media.Data)
			case llm.CallPart:
				list = append(list, fmt.Sprintf("call %s %s(%s)", p.Call.ID, p.Call.Name, p.Call.Arguments))
			case llm.ResultPart:
				line := "result " + p.Result.ID + " " + p.Result.Parts[0].Text
				if failed && p.Result.Failed {
					line += " (failed)"
				}
				list = append(list, line)
			default:
			}
		}
	}
	return list
}

// decode decodes a body with the given client format.
func decode(t *rapid.T, f wire.Format, body []byte) *llm.Conversation {
	req, err := f.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	conv, err := req.Translate()
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return conv
}

// A conversation keeps its texts, calls, IDs, results and images, in order, when it is encoded in the format of any provider. Encoders
// must report everything that they drop.
func TestConversationsSurviveEveryFormat(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		original := conversations(t)
		for _, from := range encoders {
			if from.format == nil {
				continue
			}
			body, _ := from.encode(t, original)
			asked := decode(t, from.format, body)
			for _, to := range encoders {
				sent, lost := to.encode(t, asked)
				if to.format == nil {
					checkOrder(t, from.name+" to "+to.name, asked, sent)
					continue
				}
				// The chat and Responses formats cannot mark a tool result as failed.
				named := to.name == "chat" || to.name == "responses"
				got := decode(t, to.format, sent)
				if diff := cmp.Diff(contents(asked, !named), contents(got, !named)); diff != "" {
					t.Fatalf("%s to %s (-want +got):\n%s\nlost: %q", from.name, to.name, diff, lost)
				}
			}
		}
	})
}

// checkOrder checks that a body contains every text, image and argument of the conversation in order. System messages
// come first or are in a separate member.
func checkOrder(t *rapid.T, name string, conv *llm.Conversation, body []byte) {
	var document any
	if err := json.Unmarshal(body, &document); err != nil {
		t.Fatal(err)
	}
	rest := string(body)
	for _, m := range conv.Messages {
		for _, p := range m.Parts {
			var word string
			switch p.Kind {
			case llm.TextPart:
				word, _, _ = strings.Cut(p.Text, ".")
			case llm.ImagePart:
				word = p.Media.Data
			case llm.CallPart:
				word = p.Call.Arguments[len(`{"a":"`) : len(p.Call.Arguments)-2]
			case llm.ResultPart:
				word, _, _ = strings.Cut(p.Result.Parts[0].Text, ".")
			default:
				continue
			}
			if m.Role == llm.System {
				if !strings.Contains(string(body), word[:6]) {
					t.Fatalf("%s: %q is not in %s", name, word, body)
				}
				continue
			}
			word = word[:strings.LastIndexAny(word, "0123456789")+1] // compare only up to the last digit, because the rest may be escaped
			_, after, found := strings.Cut(rest, word)
			if !found {
				t.Fatalf("%s: %q is missing or out of order in %s", name, word, body)
			}
			rest = after
		}
	}
}
