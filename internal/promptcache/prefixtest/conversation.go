package prefixtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire/chat"
)

// Turn is one request of a conversation.
type Turn struct {
	At       time.Duration // since the conversation began
	Messages []string      // all that the model reads, tools first, as Cache.Read takes it
	Request  *llm.Request  // the same as a checked chat request
	Tokens   int64         // the length of the prompt
	Answer   string        // what the model says to it, whichever it is
}

// Shape is what a conversation is like.
type Shape struct {
	Turns  int
	System int           // bytes of tools and instructions
	Result int           // bytes of an average tool result
	Answer int           // bytes of an average answer
	Pause  time.Duration // between turns, on average
	Seed   uint64
}

// Agent is the shape of a coding agent at work: forty turns, a long instruction, a growing prompt.
func Agent(seed uint64) Shape {
	return Shape{Turns: 40, System: 24_000, Result: 6_000, Answer: 1_200, Pause: 25 * time.Second, Seed: seed}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Conversation makes up a conversation of a shape, the same one for the same seed: the user asks once, then the model's
// answers and the results of its tools take turns.
func Conversation(s Shape) []Turn {
	draw := rand.New(rand.NewPCG(s.Seed, 40))
	tool := words(draw, s.System/2)
	said := []message{{"system", words(draw, s.System/2)}, {"user", words(draw, 400)}}
	turns := make([]Turn, 0, s.Turns)
	at := time.Duration(0)
	for range s.Turns {
		turn := Turn{At: at, Messages: []string{tool}, Answer: words(draw, about(draw, s.Answer))}
		for _, m := range said {
			turn.Messages = append(turn.Messages, m.Role+": "+m.Content)
		}
		for _, text := range turn.Messages {
			turn.Tokens += Tokens(text)
		}
		turn.Request = request(tool, said)
		turns = append(turns, turn)
		said = append(said, message{"assistant", turn.Answer}, message{"user", words(draw, about(draw, s.Result))})
		at += time.Duration(float64(s.Pause) * (0.2 + 1.6*draw.Float64()))
	}
	return turns
}

// request is a turn as a caller would send it.
func request(tool string, said []message) *llm.Request {
	body, err := json.Marshal(map[string]any{
		"model": "auto", "messages": said,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "run", "description": tool}}},
	})
	if err != nil {
		panic(err) // maps of texts always have a JSON form
	}
	req, err := chat.Format{}.DecodeRequest(context.Background(), llm.Chat, body)
	if err != nil {
		panic(fmt.Sprintf("made up a request that is none: %v", err))
	}
	req.Measure()
	return req
}

func about(draw *rand.Rand, n int) int { return n/2 + draw.IntN(n+1) }

// words is a text of about so many bytes.
func words(draw *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%c%x ", 'a'+draw.IntN(26), draw.Uint32N(1<<20))
	}
	return b.String()
}
