package anthropic

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Edit describes the changes to a request for a provider of the same format.
type Edit struct {
	Model  string            // provider's model name; empty to keep the client's name
	Set    map[string][]byte // new values of top-level members, as JSON; nil removes the member
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
	added := maps.Clone(e.Set)
	for i, f := range fields {
		set, replaced := e.Set[f.Name]
		delete(added, f.Name)
		if f.Name == "models" || f.Name == "provider" || f.Name == "session_id" || replaced && set == nil {
			continue
		}
		if written {
			out = append(out, req.Body[fields[i-1].End:f.KeyStart]...)
		}
		written = true
		out = append(out, req.Body[f.KeyStart:f.Value]...)
		value := req.Body[f.Value:f.End]
		switch {
		case replaced:
			value = set
		case f.Name == "model" && e.Model != "":
			value = rawjson.AppendString(nil, e.Model)
		case f.Name == "messages" && !req.Plain:
			value, lost = adaptMessages(value, e)
		}
		if len(value) < minShared {
			out = append(out, value...)
		} else {
			pieces = append(pieces, out[shared:len(out):len(out)], value)
			shared = len(out)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if added[name] != nil {
			out = append(rawjson.AppendString(append(out, ','), name), ':')
			out = append(out, added[name]...)
		}
	}
	out = append(out, req.Body[fields[len(fields)-1].End:]...)
	return append(pieces, out[shared:]), lost
}

// adaptMessages adapts the thinking and the citations in the messages, and the roles if e.NoSystemTurns is set. A message that becomes empty
// is removed. lost reports whether thinking was removed.
func adaptMessages(messages []byte, e Edit) (out []byte, lost bool) {
	var list [][]byte
	changed, user := false, false // user is whether the last message is a user message
	rawjson.Parse(messages).ForEach(func(_, message rawjson.Value) bool {
		raw, role := []byte(message.Raw), message.Get("role").String()
		content := message.Get("content")
		if role == "system" && e.NoSystemTurns {
			list, changed = mergeSystemTurn(list, user, content), true
			user = true
			return true
		}
		blocks, adapted, dropped := adaptBlocks(content, e.Signer)
		lost, changed = lost || dropped, changed || adapted
		switch {
		case !adapted:
		case len(blocks) == 0:
			return true
		default:
			raw = splice(raw, content.Index-message.Index, len(content.Raw), joinList(blocks))
		}
		list, user = append(list, raw), role == "user"
		return true
	})
	if !changed {
		return messages, false
	}
	return joinList(list), lost
}

// mergeSystemTurn removes the role system, for models that accept only the roles user and assistant. It appends the content of a system
// message to the preceding user message. If the preceding message is not a user message, the system message becomes a user message. These
// models also have no blocks that change the tools.
func mergeSystemTurn(list [][]byte, user bool, content rawjson.Value) [][]byte {
	if user {
		last := list[len(list)-1]
		before := rawjson.Parse(last).Get("content")
		list[len(list)-1] = splice(last, before.Index, len(before.Raw), joinContent(before, content))
		return list
	}
	text := []byte(content.Raw)
	if content.IsList() {
		text = joinContent(content)
	}
	return append(list, slices.Concat([]byte(`{"role":"user","content":`), text, []byte{'}'}))
}

// joinContent returns the blocks of several content values, each of which is a string or a list of blocks.
func joinContent(contents ...rawjson.Value) []byte {
	var blocks [][]byte
	addText := func(text string) {
		block, _ := encode(block{Type: "text", Text: &text}) // a text can always be encoded
		blocks = append(blocks, block)
	}
	for _, content := range contents {
		if content.Kind == rawjson.Text {
			addText(content.String())
			continue
		}
		content.ForEach(func(_, block rawjson.Value) bool {
			if text := describeToolChange(block.Get("type").String(), block); text != "" {
				addText(text)
			} else {
				blocks = append(blocks, []byte(block.Raw))
			}
			return true
		})
	}
	return joinList(blocks)
}

// adaptBlocks returns the blocks that a provider accepts. It unwraps the signatures that belong to the provider named by signer. It removes
// thinking blocks that are empty or have wrapped signatures of other providers, and citations that the gateway converted. adapted reports
// whether anything changed, dropped whether a block was removed.
func adaptBlocks(content rawjson.Value, signer string) (blocks [][]byte, adapted, dropped bool) {
	if !content.IsList() {
		return nil, false, false
	}
	content.ForEach(func(_, v rawjson.Value) bool {
		block := []byte(v.Raw)
		switch v.Get("type").String() {
		case "text":
			block = withoutForeignCitations(v)
		case "thinking":
			block = unwrapBlock(v, v.Get("signature"), signer)
		case "redacted_thinking":
			block = unwrapBlock(v, v.Get("data"), signer)
		}
		adapted, dropped = adapted || len(block) != len(v.Raw), dropped || block == nil
		if block != nil {
			blocks = append(blocks, block)
		}
		return true
	})
	return blocks, adapted, dropped
}

// unwrapBlock returns a block with its original signature. It returns nil for thinking that is empty or was signed by another provider.
func unwrapBlock(v, signature rawjson.Value, signer string) []byte {
	s, wrapped := unwrapSignature(signature.String())
	switch {
	case signature.String() == "" && v.Get("thinking").String() == "":
		return nil
	case !wrapped:
		return []byte(v.Raw)
	case s.Call || s.Text || s.Provider != signer || s.Value == "":
		return nil
	}
	return splice([]byte(v.Raw), signature.Index-v.Index, len(signature.Raw), rawjson.AppendString(nil, s.Value))
}

// withoutForeignCitations removes the citations of a text block if the gateway converted them from another format.
func withoutForeignCitations(v rawjson.Value) []byte {
	if !strings.HasPrefix(v.Get("citations.0.encrypted_index").String(), signaturePrefix) {
		return []byte(v.Raw)
	}
	var w rawjson.Writer
	w.Open()
	v.ForEach(func(key, value rawjson.Value) bool {
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

// joinList returns a list of the given values.
func joinList(values [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'})
}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	next, err := encode(message{Role: string(llm.Assistant), Content: content{text: &text}})
	if err != nil {
		return nil, err
	}
	return f.DecodeRequest(ctx, req.Op, req.Replace(func(name string, value []byte) []byte {
		switch {
		case name == "messages":
			end := bytes.LastIndexByte(value, ']')
			return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, next, value[end:])
		case name == "max_tokens" && maxOutput > 0:
			return strconv.AppendInt(nil, maxOutput, 10)
		}
		return nil
	}))
}
