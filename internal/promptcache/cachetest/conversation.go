package cachetest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/chat"
)

// Turn is one request of a conversation.
type Turn struct {
	At       time.Duration // time since the start of the conversation
	Messages []string      // whole prompt, tools first, for Cache.Read
	Request  *llm.Request  // the same prompt as a decoded chat request
	Tokens   int64         // length of the prompt
	Answer   string        // response of the model
}

// Shape describes a conversation.
type Shape struct {
	Turns  int
	System int           // bytes of tools and instructions
	Result int           // mean size of a tool result in bytes
	Answer int           // mean size of a response in bytes
	Pause  time.Duration // mean time between turns
	Seed   uint64
}

// Agent returns the shape of a coding agent's conversation: forty turns, long instructions, a growing prompt.
func Agent(seed uint64) Shape {
	return Shape{Turns: 40, System: 24_000, Result: 6_000, Answer: 1_200, Pause: 25 * time.Second, Seed: seed}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Conversation generates a conversation, the same one for the same seed. The user asks once; then model responses and
// tool results alternate.
func Conversation(s Shape) []Turn {
	draw := rand.New(rand.NewPCG(s.Seed, 40))
	tool := words(draw, s.System/2)
	messages := []message{{"system", words(draw, s.System/2)}, {"user", words(draw, 400)}}
	turns := make([]Turn, 0, s.Turns)
	at := time.Duration(0)
	for range s.Turns {
		turn := Turn{At: at, Messages: []string{tool}, Answer: words(draw, about(draw, s.Answer))}
		for _, m := range messages {
			turn.Messages = append(turn.Messages, m.Role+": "+m.Content)
		}
		for _, text := range turn.Messages {
			turn.Tokens += Tokens(text)
		}
		turn.Request = request(tool, messages)
		turns = append(turns, turn)
		messages = append(messages, message{"assistant", turn.Answer}, message{"user", words(draw, about(draw, s.Result))})
		at += time.Duration(float64(s.Pause) * (0.2 + 1.6*draw.Float64()))
	}
	return turns
}

// request returns a turn as a client would send it.
func request(tool string, messages []message) *llm.Request {
	body, err := json.Marshal(map[string]any{
		"model": "auto", "messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{"name": "run", "description": tool}}},
	})
	if err != nil {
		panic(err) // cannot fail, because all values can be encoded
	}
	req, err := chat.Format{}.DecodeRequest(context.Background(), llm.Chat, body)
	if err != nil {
		panic(fmt.Sprintf("generated an invalid request: %v", err))
	}
	req.Measure()
	return req
}

func about(draw *rand.Rand, n int) int { return n/2 + draw.IntN(n+1) }

// words returns a text of about size bytes.
func words(draw *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%c%x ", 'a'+draw.IntN(26), draw.Uint32N(1<<20))
	}
	return b.String()
}
