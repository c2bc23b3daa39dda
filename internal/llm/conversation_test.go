package llm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurnsSeparateInstructionsAndJoinMessages(t *testing.T) {
	t.Parallel()
	text := func(s string) Part { return Part{Kind: TextPart, Text: s} }
	c := Conversation{Messages: []Message{
		{Role: System, Parts: []Part{text("be brief")}},
		{Role: User, Parts: []Part{text("one")}},
		{Role: User, Parts: []Part{text("two")}},
		{Role: System, Parts: []Part{text("be kind")}},
		{Role: User, Parts: []Part{text("three")}},
		{Role: Assistant, Parts: []Part{text("four")}},
	}}

	system, turns := c.Turns()

	if diff := cmp.Diff([]Part{text("be brief"), text("be kind")}, system); diff != "" {
		t.Error(diff)
	}
	want := []Message{
		{Role: User, Parts: []Part{text("one"), text("two"), text("three")}},
		{Role: Assistant, Parts: []Part{text("four")}},
	}
	if diff := cmp.Diff(want, turns); diff != "" {
		t.Error(diff)
	}
	if len(c.Messages[1].Parts) != 1 {
		t.Error("joining messages changed the conversation")
	}
}

func TestHasCalls(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		part Part
		want bool
	}{
		"text":        {Part{Kind: TextPart}, false},
		"tool call":   {Part{Kind: CallPart}, true},
		"tool result": {Part{Kind: ResultPart}, true},
	} {
		c := Conversation{Messages: []Message{{Role: User, Parts: []Part{tc.part}}}}
		if c.HasCalls() != tc.want {
			t.Errorf("%s: HasCalls = %t, want %t", name, !tc.want, tc.want)
		}
	}
}
