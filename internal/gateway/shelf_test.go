package gateway

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"fairlead/internal/llm"
	"fairlead/internal/wire"
	"fairlead/internal/wire/strict"
)

func TestShelfKeepsRoomForOtherWorkspaces(t *testing.T) {
	t.Parallel()
	var s shelf
	for i, step := range []struct {
		workspace string
		n, mine   int64
		taken     bool
	}{
		{"a", 60, 0, true},   // one body may always be there
		{"a", 30, 60, true},  // and grow
		{"a", 1, 0, false},   // but no second one beyond half
		{"b", 11, 0, false},  // nor anything beyond the whole
		{"b", 10, 0, true},   // others have the rest
		{"a", 1, 90, false},  // which is full now
		{"a", -90, 0, true},  // the first body goes
		{"b", 40, 0, true},   // half for one workspace, in several bodies
		{"b", 1, 0, false},   //
		{"c", 50, 0, true},   // and the other half for the others
		{"c", -50, 0, true},  //
		{"b", -50, 0, true},  //
		{"b", 100, 0, true},  // one body of all there is
		{"b", -100, 0, true}, //
	} {
		if step.n < 0 {
			s.give(step.workspace, -step.n)
			continue
		}
		if got := s.take(step.workspace, step.n, step.mine, 100); got != step.taken {
			t.Errorf("step %d: taken is %v", i, got)
		}
	}
	if s.held != 0 || len(s.of) != 0 {
		t.Errorf("%d bytes are still counted, for %v", s.held, s.of)
	}
}

func TestLargeBodiesReserveMemoryForDecoding(t *testing.T) {
	t.Parallel()
	body := func(inside string) []byte { return []byte(`{"model":"m","input":[` + inside + `1]}`) }
	messages, tokens, dense := body(strings.Repeat(`{"a":1},`, 1000)), body(strings.Repeat(`1,`, 1000)), body(strings.Repeat(`1,`, strict.MaxElements))
	for name, tc := range map[string]struct {
		op     llm.Op
		body   []byte
		most   int64
		others int64 // bytes that another workspace holds
		held   int64
		kind   llm.Kind
	}{
		"messages":             {llm.Chat, messages, 1 << 30, 0, 4*int64(len(messages)) + 400*2003, ""},
		"token ids":            {llm.Embed, tokens, 1 << 30, 0, 4*int64(len(tokens)) + 400*2, ""},
		"very many token ids":  {llm.Embed, dense, 1 << 30, 0, 4*int64(len(dense)) + 400*2, ""},
		"too many elements":    {llm.Chat, dense, 1 << 30, 0, 0, llm.InvalidRequest},
		"all the memory":       {llm.Chat, messages, int64(len(messages)) + 9, 0, int64(len(messages)) + 9, ""},
		"others hold a little": {llm.Chat, messages, int64(len(messages)) + 9, 1, 0, llm.Overloaded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shelf{}
			s.take("other", tc.others, 0, tc.most)
			b := buffer{shelf: s, workspace: "a", most: tc.most, bytes: tc.body}
			if err := b.take(int64(len(tc.body))); err != nil {
				t.Fatal(err)
			}
			err := b.reserveDecoding(tc.op)
			if tc.kind != "" {
				if err == nil || llm.AsError(err).Kind != tc.kind {
					t.Errorf("got %v, want %s", err, tc.kind)
				}
				return
			}
			if err != nil || b.held != tc.held {
				t.Errorf("%d bytes are held, want %d: %v", b.held, tc.held, err)
			}
			b.releaseDecoding()
			if b.held != int64(len(tc.body)) || s.held != b.held+tc.others {
				t.Errorf("%d bytes are held after decoding, %d in all", b.held, s.held)
			}
			b.release()
			if s.held != tc.others {
				t.Errorf("%d bytes are still counted", s.held)
			}
		})
	}
}

// undecoded is a format whose requests must not be decoded.
type undecoded struct {
	wire.Format
	t *testing.T
}

func (u undecoded) DecodeRequest(context.Context, llm.Op, []byte) (*llm.Request, error) {
	u.t.Error("the request of a client that has left was decoded")
	return &llm.Request{}, nil
}

func TestRequestOfADisconnectedClientIsNotDecoded(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Gateway{}).decode(&exchange{r: r, format: undecoded{t: t}}, make([]byte, largeBody))
	if err == nil || llm.AsError(err).Kind != llm.ClientCancelled {
		t.Errorf("got %v", err)
	}
}
