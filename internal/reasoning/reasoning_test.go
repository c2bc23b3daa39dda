package reasoning

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// signedCall returns a call with a block of signed reasoning.
func signedCall(workspace, id string) *call {
	return &call{
		key: key{workspace, id}, name: "look", model: "thinker",
		thinking: []llm.Thinking{{Text: "look first", Signature: "sig-" + id, Provider: "vendor"}},
	}
}

func thinker() *provider.Target { return &provider.Target{Model: &catalog.Model{Name: "thinker"}} }

// conversation returns a conversation with one turn per ID. Each turn has a call and its result, but no reasoning.
func conversation(ids ...string) *llm.Conversation {
	conv := &llm.Conversation{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "go"}}}}}
	for _, id := range ids {
		conv.Messages = append(conv.Messages,
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: "look", Arguments: "{}"}}}},
			llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id}}}})
	}
	return conv
}

// restored returns the signatures that are restored in a workspace's conversation.
func restored(t *testing.T, s *Store, workspace, model string, conv *llm.Conversation) (signatures []string) {
	t.Helper()
	session := s.Begin(workspace, true)
	session.Recall(conv)
	for _, m := range session.restore(conv, model).Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ThinkingPart {
				signatures = append(signatures, p.Thinking.Signature)
			}
		}
	}
	return signatures
}

func TestReasoningIsRestoredToItsWorkspaceAndModelOnly(t *testing.T) {
	t.Parallel()
	s := New()
	s.keep([]*call{signedCall("ws_1", "a"), signedCall("ws_1", "b")})
	for _, c := range []struct {
		name, workspace, model string
		want                   []string
	}{
		{"same workspace and model", "ws_1", "thinker", []string{"sig-a", "sig-b"}},
		{"another workspace", "ws_2", "thinker", nil},
		{"another model", "ws_1", "other", nil},
	} {
		if diff := cmp.Diff(c.want, restored(t, s, c.workspace, c.model, conversation("a", "b", "unknown"))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestReasoningExpiresAnHourAfterItsLastUse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New()
		s.keep([]*call{signedCall("ws", "a")})
		for range 3 { // a conversation that continues keeps its reasoning
			time.Sleep(lifetime - time.Second)
			if got := restored(t, s, "ws", "thinker", conversation("a")); len(got) != 1 {
				t.Fatalf("restored %v while in use, want one signature", got)
			}
		}
		time.Sleep(lifetime)
		if got := restored(t, s, "ws", "thinker", conversation("a")); got != nil {
			t.Errorf("restored %v after an hour without use, want none", got)
		}
		if len(s.calls) != 0 || s.bytes != 0 {
			t.Errorf("%d entries with %d bytes remain, want none", len(s.calls), s.bytes)
		}
	})
}

func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	s := New()
	s.maxBytes = 64 << 10
	for i := range 20 {
		long := signedCall("ws", fmt.Sprint("l", i))
		long.thinking[0].Text = strings.Repeat("x", 10<<10)
		s.keep([]*call{long})
	}
	if len(s.calls) != 6 || s.order.Len() != 6 || s.bytes > 64<<10 {
		t.Errorf("%d calls with %d bytes, want 6 and at most 64 KiB", s.order.Len(), s.bytes)
	}
}

func TestLeastRecentlyUsedReasoningIsEvicted(t *testing.T) {
	t.Parallel()
	s := New()
	s.maxBytes = 3 * (entryOverhead + signedCall("ws", "a").size())
	for _, id := range []string{"a", "b", "c"} {
		s.keep([]*call{signedCall("ws", id)})
	}
	restored(t, s, "ws", "thinker", conversation("a"))
	s.keep([]*call{signedCall("ws", "d")})
	if diff := cmp.Diff([]string{"sig-a", "sig-c", "sig-d"}, restored(t, s, "ws", "thinker", conversation("a", "b", "c", "d"))); diff != "" {
		t.Error(diff)
	}
}

func TestRestoredReasoningIsBoundedPerRequest(t *testing.T) {
	t.Parallel()
	s := New()
	var ids []string
	for i := range 100 {
		long := signedCall("ws", fmt.Sprint("c", i))
		long.thinking[0].Text = strings.Repeat("x", 100<<10)
		s.keep([]*call{long})
		ids = append(ids, long.key.call)
	}
	session := s.Begin("ws", true)
	if n := session.Recall(conversation(ids...)); n > maxRestored || n < maxRestored/2 {
		t.Errorf("%d bytes were restored with a limit of %d, want at least half of it", n, maxRestored)
	}
	if session.recalled["c99"] == nil || session.recalled["c0"] != nil {
		t.Errorf("newest call restored = %t, oldest = %t; want true, false",
			session.recalled["c99"] != nil, session.recalled["c0"] != nil)
	}
}

func TestRestoreKeepsTheOrderOfATurn(t *testing.T) {
	t.Parallel()
	s := New()
	second := signedCall("ws", "b")
	second.signature, second.provider = "call-sig", "vendor"
	s.keep([]*call{signedCall("ws", "a"), second})
	part := func(id string) llm.Part {
		return llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: "look"}}
	}
	conv := &llm.Conversation{Messages: []llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "without signature"}}, {Kind: llm.TextPart, Text: "one moment"}}},
		{Role: llm.Assistant, Parts: []llm.Part{part("a"), part("b")}},
	}}
	session := s.Begin("ws", true)
	session.Recall(conv)
	var got []string
	for i, m := range session.restore(conv, "thinker").Messages {
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.ThinkingPart:
				got = append(got, fmt.Sprint(i, " thinking ", p.Thinking.Signature))
			case llm.CallPart:
				got = append(got, fmt.Sprint(i, " call ", p.Call.ID, " ", p.Call.Signature))
			default:
				got = append(got, fmt.Sprint(i, " ", p.Kind))
			}
		}
	}
	if diff := cmp.Diff([]string{"0 thinking sig-a", "0 text", "1 call a ", "1 thinking sig-b", "1 call b call-sig"}, got); diff != "" {
		t.Error(diff)
	}
	if len(conv.Messages[0].Parts) != 2 || conv.Messages[1].Parts[1].Call.Signature != "" {
		t.Error("restore changed the conversation of the client")
	}
}

func TestSignaturesOfTheClientAreKept(t *testing.T) {
	t.Parallel()
	s := New()
	s.keep([]*call{signedCall("ws", "a")})
	conv := conversation("a")
	own := llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Signature: "from the client", Provider: "vendor"}}
	conv.Messages[1].Parts = append([]llm.Part{own}, conv.Messages[1].Parts...)
	if diff := cmp.Diff([]string{"from the client"}, restored(t, s, "ws", "thinker", conv)); diff != "" {
		t.Error(diff)
	}
}

func TestRepeatedIDRestoresTheLastCall(t *testing.T) {
	t.Parallel()
	s := New()
	s.keep([]*call{signedCall("ws", "a")})
	conv := conversation("a", "a")
	session := s.Begin("ws", true)
	session.Recall(conv)
	got := session.restore(conv, "thinker")
	if got.Messages[1].Parts[0].Kind != llm.CallPart || got.Messages[3].Parts[0].Kind != llm.ThinkingPart {
		t.Errorf("first parts are of kinds %v and %v; want reasoning only before the last call",
			got.Messages[1].Parts[0].Kind, got.Messages[3].Parts[0].Kind)
	}
	conv = conversation("a")
	conv.Messages[1].Parts[0].Call.Name = "another tool"
	if got := restored(t, s, "ws", "thinker", conv); got != nil {
		t.Errorf("restored %v before a call of another tool, want none", got)
	}
}

// format is a client format whose responses are the deltas themselves.
type format struct{}

func (format) EncodeResponse(_ *llm.Request, _ string, deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for d, err := range deltas {
			if !yield(llm.Event{Name: string(d.Kind)}, err) {
				return
			}
		}
	}
}

// respond passes deltas through a session's client.
func respond(c provider.Client, last error, deltas ...llm.Delta) {
	for range c.EncodeResponse(nil, "", func(yield func(llm.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
		if last != nil {
			yield(llm.Delta{}, last)
		}
	}) {
	}
}

func callDelta(id string, index int) llm.Delta {
	return llm.Delta{Kind: llm.CallDelta, Index: index, Call: &llm.ToolCall{ID: id, Name: "look"}}
}

func TestReasoningOfResponsesIsKept(t *testing.T) {
	t.Parallel()
	think := llm.Delta{Kind: llm.ThinkingDelta, Text: "hmm"}
	sign := func(signature string) llm.Delta {
		return llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: signature, Provider: "vendor"}}
	}
	finish := llm.Delta{Kind: llm.FinishDelta, Finish: "tool_calls"}
	for _, c := range []struct {
		name   string
		keeps  bool
		deltas []llm.Delta
		last   error
		want   []string
	}{
		{"thinking before two calls", true, []llm.Delta{think, sign("1"), callDelta("a", 0), think, think, sign("2"), callDelta("b", 1), finish}, nil, []string{"1", "2"}},
		{"redacted thinking", true, []llm.Delta{{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "data", Provider: "vendor"}}, callDelta("a", 0), finish}, nil, []string{""}},
		{"zero data retention", false, []llm.Delta{think, sign("1"), callDelta("a", 0), finish}, nil, nil},
		{"without a signature", true, []llm.Delta{think, sign(""), callDelta("a", 0), finish}, nil, nil},
		{"an interrupted response", true, []llm.Delta{think, sign("1"), callDelta("a", 0)}, errors.New("cut"), nil},
		{"too long", true, []llm.Delta{{Kind: llm.ThinkingDelta, Text: strings.Repeat("x", maxCallBytes)}, sign("1"), callDelta("a", 0), finish}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := New()
			respond(s.Begin("ws", c.keeps).Client(format{}, thinker()), c.last, c.deltas...)
			if diff := cmp.Diff(c.want, restored(t, s, "ws", "thinker", conversation("a", "b"))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestClientRestoresTheText(t *testing.T) {
	t.Parallel()
	s := New()
	c := s.Begin("ws", true).Client(format{}, thinker())
	respond(c, nil,
		llm.Delta{Kind: llm.ThinkingDelta, Text: "look "}, llm.Delta{Kind: llm.ThinkingDelta, Text: "first"},
		llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "vendor"}},
		callDelta("a", 0), llm.Delta{Kind: llm.FinishDelta})
	session := s.Begin("ws", true)
	sent := conversation("a")
	session.Recall(sent)
	want := &llm.Thinking{Text: "look first", Signature: "s", Provider: "vendor"}
	for range 2 { // every attempt starts from the conversation that the client sent
		conv := session.Client(format{}, thinker()).(provider.Restorer).Restore(sent)
		if diff := cmp.Diff(want, conv.Messages[1].Parts[0].Thinking); diff != "" {
			t.Error(diff)
		}
	}
}
