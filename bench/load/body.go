package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
)

var vocabulary = []string{
	"route", "model", "latency", "the", "a", "of", "prompt", "token", "budget", "and", "tool", "result",
	"function", "retry", "when", "provider", "returns", "an", "error", "with", "context", `\"quoted\"`,
	`\n`, `\n\n- `, `C:\\path`, "caf\u00e9", "naïve", "{json}", "[1, 2, 3]", "http://host/path?q=1", "if", "x := 1;",
}

// serial is a placeholder in the last message of a body.
const serial = "no 0000000000 "

// Body is a chat request whose messages hold about promptBytes of text with the
// escapes, quotes and multi-byte characters that prompts have. Every call with
// the same arguments gives the same bytes; the serial in it is there to be
// overwritten, so that no request is a repetition of another.
func Body(model string, promptBytes int, stream bool) []byte {
	rng := rand.New(rand.NewPCG(42, uint64(promptBytes)))
	const perMessage = 2500
	count := max(2, promptBytes/perMessage)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":%q,"messages":[`, model)
	for i := range count {
		role := "user"
		switch {
		case i == 0:
			role = "system"
		case i%2 == 0:
			role = "assistant"
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":%q,"content":"`, role)
		if i == count-1 {
			b.WriteString(serial)
		}
		for start := b.Len(); b.Len()-start < promptBytes/count; {
			b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
			b.WriteByte(' ')
		}
		b.WriteString(`"}`)
	}
	b.WriteString(`],"temperature":0.7,"max_tokens":1024`)
	if stream {
		b.WriteString(`,"stream":true,"stream_options":{"include_usage":true}`)
	}
	b.WriteString(`}`)
	return b.Bytes()
}
