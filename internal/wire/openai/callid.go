package openai

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"fairlead.dev/internal/rawjson"
)

// appendWithCallIDs appends the messages to dst and converts all tool-call IDs with the function rename. rename must be deterministic, so
// that calls still match their results.
func appendWithCallIDs(dst, messages []byte, rename func(string) string) []byte {
	s := rawjson.Scanner{Data: messages}
	written := 0
	each := func() {
		if s.Kind() != '"' {
			return
		}
		t := s.ReadString()
		id := string(s.Unquote(t))
		if ours := rename(id); ours != id {
			dst = rawjson.AppendString(append(dst, messages[written:t.Start-1]...), ours)
			written = s.Pos
		}
	}
	eachObject(&s, func() {
		for key := range s.Members {
			switch string(key) {
			case "tool_call_id":
				each()
			case "tool_calls":
				eachObject(&s, func() {
					for key := range s.Members {
						if string(key) == "id" {
							each()
						}
					}
				})
			}
		}
	})
	return append(dst, messages[written:]...)
}

// eachObject calls read for each object in the array that begins at the current position.
func eachObject(s *rawjson.Scanner, read func()) {
	if s.Kind() != '[' {
		return
	}
	for range s.Elements {
		if s.Kind() == '{' {
			read()
		}
	}
}

const nineLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NineCharID returns a tool-call ID of exactly nine letters and digits, as Mistral requires. It is deterministic and
// returns a valid ID unchanged.
func NineCharID(id string) string {
	if len(id) == 9 && strings.Trim(id, nineLetters) == "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	var nine [9]byte
	for i := range nine {
		nine[i] = nineLetters[int(binary.BigEndian.Uint16(sum[2*i:]))%len(nineLetters)]
	}
	return string(nine[:])
}
