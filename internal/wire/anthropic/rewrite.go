package anthropic

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Edit describes the changes to a request for a provider of the same format.
type Edit struct {
	Model  string            // provider's model name; empty to keep the client's name
	Drop   []string          // names of top-level members to remove
	Set    map[string][]byte // new values of top-level members, as JSON; members that the request does not have are not added
	Add    map[string][]byte // top-level members to append, as JSON; the request must not have them
	Signer string            // name under which the target's thinking signatures are stored; wrapped signatures of other signers are invalid
	// NoSystemTurns merges messages with the role system into the preceding user messages.
	NoSystemTurns bool
}

// minShared is the minimum length of a value that is shared instead of copied.
const minShared = 4 << 10

// Pieces returns the body for a provider of the same format: the client's body with the edits applied and without the gateway's own
// members (models, provider, session_id). In the messages, it unwraps the signatures of e.Signer, and removes citations that the gateway
// converted from another format and thinking that is empty or whose wrapped signature belongs to another signer. lost reports whether
// thinking was removed; in that case, the caller must also remove a thinking budget. Other members stay the same and in order. The body is
// a list of slices, of which long ones share memory with the client's body.
func Pieces(req *llm.Request, e Edit) (pieces [][]byte, lost bool) {
	fields := req.Fields
	if len(fields) == 0 {
		return [][]byte{req.Body}, false
	}
	out, written, shared := append(make([]byte, 0, min(len(req.Body)+512, minShared)), req.Body[:fields[0].KeyStart]...), false, 0
	share := func(value []byte) {
		if len(value) < minShared {
			out = append(out, value...)
			return
		}
		pieces = append(pieces, out[shared:len(out):len(out)], value)
		shared = len(out)
	}
	for i, f := range fields {
		if f.Name == "models" || f.Name == "provider" || f.Name == "session_id" || slices.Contains(e.Drop, f.Name) {
			continue
		}
		if written {
			out = append(out, req.Body[fields[i-1].End:f.KeyStart]...)
		}
		written = true
		out = append(out, req.Body[f.KeyStart:f.Value]...)
		value := req.Body[f.Value:f.End]
		set, replaced := e.Set[f.Name]
		switch {
		case replaced:
			out = append(out, set...)
		case f.Name == "model" && e.Model != "":
			out = rawjson.AppendString(out, e.Model)
		case f.Name == "messages":
			if !req.Plain && mayHaveInvalidThinking(value) {
				value, lost = withoutInvalidThinking(value, e.Signer)
			}
			if e.NoSystemTurns {
				value = withoutSystemTurns(value)
			}
			share(value)
		default:
			share(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.Add)) {
		out = append(rawjson.AppendString(append(out, ','), name), ':')
		out = append(out, e.Add[name]...)
	}
	out = append(out, req.Body[fields[len(fields)-1].End:]...)
	return append(pieces, out[shared:]), lost
}

// emptyThinking matches the empty members of thinking blocks. It does not find a malformed block that has none of the three members. Each
// member has its own expression because a search for one literal prefix is faster than a search for alternatives.
var emptyThinking = []*regexp.Regexp{
	regexp.MustCompile(`"thinking"\s*:\s*(""|null)`),
	regexp.MustCompile(`"signature"\s*:\s*(""|null)`),
	regexp.MustCompile(`"data"\s*:\s*(""|null)`),
}

// mayHaveInvalidThinking is a fast check for empty thinking and for signatures and citations that the gateway wrapped.
func mayHaveInvalidThinking(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"`+signaturePrefix)) ||
		slices.ContainsFunc(emptyThinking, func(member *regexp.Regexp) bool { return member.Match(raw) })
}

// withoutInvalidThinking unwraps the signatures that belong to the provider named by signer. It removes thinking blocks that are empty or
// have wrapped signatures of other providers, and citations that the gateway converted. A message that becomes empty is removed.
func withoutInvalidThinking(messages []byte, signer string) (out []byte, lost bool) {
	list := rawjson.Writer{Out: []byte{'['}}
	rawjson.Parse(messages).ForEach(func(_, message rawjson.Value) bool {
		content := message.Get("content")
		if !content.IsList() || !mayHaveInvalidThinking([]byte(content.Raw)) {
			list.Element([]byte(message.Raw))
			return true
		}
		blocks := rawjson.Writer{Out: []byte{'['}}
		content.ForEach(func(_, block rawjson.Value) bool {
			opened, ok := unwrapBlock(block, signer)
			if ok {
				blocks.Element(opened)
			}
			lost = lost || !ok
			return true
		})
		blocks.CloseList()
		if len(blocks.Out) > len(`[]`) {
			list.Element(splice([]byte(message.Raw), content.Index-message.Index, len(content.Raw), blocks.Out))
		}
		return true
	})
	list.CloseList()
	return list.Out, lost
}

// unwrapBlock returns a block with its original signature. It returns false for thinking that is empty or was signed by
// another provider.
func unwrapBlock(block rawjson.Value, signer string) ([]byte, bool) {
	if block.Get("type").String() == "text" {
		return withoutForeignCitations(block), true
	}
	member := map[string]string{"thinking": "signature", "redacted_thinking": "data"}[block.Get("type").String()]
	if member == "" {
		return []byte(block.Raw), true
	}
	value := block.Get(member)
	s, wrapped := unwrapSignature(value.String())
	switch {
	case value.String() == "" && block.Get("thinking").String() == "":
		return nil, false
	case !wrapped:
		return []byte(block.Raw), true
	case s.Call || s.Text || s.Provider != signer || s.Value == "":
		return nil, false
	}
	return splice([]byte(block.Raw), value.Index-block.Index, len(value.Raw), rawjson.AppendString(nil, s.Value)), true
}

// withoutForeignCitations removes the citations of a text block if the gateway converted them from another format.
func withoutForeignCitations(block rawjson.Value) []byte {
	if !strings.HasPrefix(block.Get("citations.0.encrypted_index").String(), signaturePrefix) {
		return []byte(block.Raw)
	}
	var w rawjson.Writer
	w.Open()
	block.ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "citations" {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}

// splice returns a copy of data with data[at:at+length] replaced by the parameter with.
func splice(data []byte, at, length int, with []byte) []byte {
	return slices.Concat(data[:at], with, data[at+length:])
}
