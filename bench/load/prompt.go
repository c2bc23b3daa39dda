package load

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// serial is the part of a message that differs in every request.
const serial = "0000000000"

// request returns a complete HTTP request.
func request(t Target, s Spec) []byte {
	return post(t, []byte(body(t.Model, s)))
}

// post returns a complete POST request with the given body.
func post(t Target, body []byte) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		t.Path, t.Address, t.Key, len(body), body)
}

// body returns a request body with messages of about s.Prompt bytes in total. The last message begins with the serial
// number. If Unrelated is set, every message contains the serial number.
func body(model string, s Spec) string {
	const usual = 5000 // typical size in bytes of a user message and its response in a long conversation
	count := 2 * max(1, s.Prompt/usual)
	roles := [2]string{"assistant", "user"}
	words := rand.New(rand.NewPCG(1, uint64(s.Prompt))) // the seed makes the words reproducible
	start := func(i int) string {
		if s.Unrelated || i == count-1 {
			return serial + ". "
		}
		return ""
	}
	messages := []string{message("system", s.Preface+start(0)+text(words, s.Prompt/count))}
	for i := 1; i < count; i++ {
		messages = append(messages, message(roles[i%2], start(i)+text(words, s.Prompt/count)))
	}
	stream := ""
	if s.Stream {
		stream = `,"stream":true,"stream_options":{"include_usage":true}`
	}
	return fmt.Sprintf(`{"model":%q,"messages":[%s],"temperature":0.7,"max_tokens":1024%s}`, model, strings.Join(messages, ","), stream)
}

func message(role, content string) string {
	return fmt.Sprintf(`{"role":%q,"content":"%s"}`, role, content)
}

// text returns JSON-encoded text with the quotes, escapes and multi-byte characters of real prompts.
func text(words *rand.Rand, size int) string {
	some := [...]string{
		"please", "explain", "why", "this", "test", "fails", "on", "my", "machine", "only", "when", "the", "cache", "is", "cold", "and",
		`\"really\"`, `\n`, `\n\n* `, `C:\\Users\\me`, "déjà", "über", "{\\\"a\\\": 1}", "[0, 1]", "https://example.com/?a=b", "for", "i++;", "→", "it's", "42%", "SELECT", "(sic)",
	}
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(some[words.IntN(len(some))])
		b.WriteByte(' ')
	}
	return b.String()
}
