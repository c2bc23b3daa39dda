package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// ForeignSignature replaces the signature of a call that was made by another model.
const ForeignSignature = "skip_thought_signature_validator"

// turns encodes the conversation. Tool results come first in a user turn, in a separate content.
func (r *renderer) turns(turns []llm.Message) error {
	r.calls, r.order = map[string]llm.ToolCall{}, map[string]int{}
	r.out.Contents = []content{}
	for _, turn := range turns {
		if err := llm.Cancelled(r.ctx); err != nil {
			return err
		}
		if turn.Role == llm.Assistant {
			if err := r.modelTurn(turn.Parts); err != nil {
				return err
			}
			continue
		}
		results, err := r.results(turn.Parts)
		if err != nil {
			return err
		}
		r.add(roleUser, results)
		said, err := r.userParts(turn.Parts)
		if err != nil {
			return err
		}
		r.add(roleUser, said)
	}
	return nil
}

func (r *renderer) add(role string, parts []part) {
	if len(parts) > 0 {
		r.out.Contents = append(r.out.Contents, content{Role: role, Parts: parts})
	}
}

// userParts writes user content other than results. Empty texts are dropped because the API rejects them.
func (r *renderer) userParts(parts []llm.Part) ([]part, error) {
	var out []part
	for _, p := range parts {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			if p.Text != "" {
				out = append(out, textPart(p.Text))
			}
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.media(p)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		default:
		}
	}
	return out, nil
}

// modelTurn encodes a turn of the model. Thinking is not sent as text. Only its signature is sent, on the text that
// follows it, where the model originally put it.
func (r *renderer) modelTurn(said []llm.Part) error {
	turn := modelTurn{renderer: r}
	if slices.ContainsFunc(said, func(p llm.Part) bool { return p.Kind == llm.CallPart }) {
		r.order = map[string]int{} // a new map, because clearing a large one is as expensive as filling it
	}
	for _, p := range said {
		if err := turn.add(p); err != nil {
			return err
		}
	}
	turn.finish()
	r.add(roleModel, turn.parts)
	return nil
}

type modelTurn struct {
	*renderer
	parts     []part
	signature string // signature to attach to the next text
}

func (t *modelTurn) add(p llm.Part) error {
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		if p.Text != "" {
			out := textPart(p.Text)
			out.Signature, t.signature = t.signature, ""
			t.parts = append(t.parts, out)
		}
	case llm.ThinkingPart:
		if p.Thinking != nil && p.Thinking.Provider == t.o.Provider && p.Thinking.Signature != "" {
			t.signature = p.Thinking.Signature
		}
	case llm.CallPart:
		t.call(*p.Call)
	case llm.ImagePart, llm.AudioPart, llm.FilePart:
		m, err := t.media(p)
		if err != nil {
			return err
		}
		t.parts = append(t.parts, m)
	case llm.ResultPart:
	}
	return nil
}

func (t *modelTurn) call(c llm.ToolCall) {
	out := part{Call: &functionCall{Name: c.Name, Args: arguments(c)}}
	if t.o.Traits.CallIDs {
		out.Call.ID = c.ID
	}
	if c.Provider == t.o.Provider || c.Provider == "" { // only clients of Google's API send a signature without a provider
		out.Signature = c.Signature
	}
	t.calls[c.ID] = c
	t.order[c.ID] = len(t.order)
	t.parts = append(t.parts, out)
}

// finish attaches a signature that was not followed by text, and signs the first call if the model requires it.
func (t *modelTurn) finish() {
	if t.signature != "" {
		last := -1
		for i, p := range t.parts {
			if p.Text != nil {
				last = i
			}
		}
		if last < 0 {
			t.parts = append(t.parts, textPart(""))
			last = len(t.parts) - 1
		}
		t.parts[last].Signature = t.signature
	}
	first := slices.IndexFunc(t.parts, func(p part) bool { return p.Call != nil })
	if first >= 0 && t.o.Traits.NeedsSignatures && t.parts[first].Signature == "" {
		t.parts[first].Signature = ForeignSignature
	}
}

// arguments encodes the arguments of a call as an object. The model may have generated another type.
func arguments(c llm.ToolCall) json.RawMessage {
	text := strings.TrimSpace(c.Arguments)
	switch {
	case c.Custom:
		return member(customInput, c.Arguments)
	case text == "" || text == "null":
		return json.RawMessage("{}")
	case isObject([]byte(text)):
		return json.RawMessage(text)
	}
	return member("arguments", c.Arguments)
}

// member returns an object with one string.
func member(name, text string) json.RawMessage {
	raw, _ := encode(map[string]string{name: text}) // a string always encodes
	return raw
}

// results encodes tool results in the order of their calls, because models without call IDs match them by order.
func (r *renderer) results(parts []llm.Part) ([]part, error) {
	var found []llm.ToolResult
	for _, p := range parts {
		if p.Kind == llm.ResultPart {
			found = append(found, *p.Result)
		}
	}
	slices.SortStableFunc(found, func(a, b llm.ToolResult) int { return r.place(a.ID) - r.place(b.ID) })
	var out []part
	for _, result := range found {
		written, err := r.result(result)
		if err != nil {
			return nil, err
		}
		out = append(out, written...)
	}
	return out, nil
}

func (r *renderer) place(id string) int {
	if place, ok := r.order[id]; ok {
		return place
	}
	return len(r.order)
}

// result encodes one result, followed by its images and files.
func (r *renderer) result(result llm.ToolResult) ([]part, error) {
	name := result.Name
	if call, ok := r.calls[result.ID]; ok {
		name = call.Name
	}
	if name == "" {
		return nil, invalid("messages", "The result of tool call %s has no call before it. Send the call too.", show.Quote(result.ID))
	}
	said, media := []string{}, []part{}
	for _, p := range result.Parts {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			said = append(said, p.Text)
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.media(p)
			if err != nil {
				return nil, err
			}
			media = append(media, m)
		default:
		}
	}
	response := &functionResponse{Name: name, Response: outcome(strings.Join(said, "\n"), result.Failed)}
	if r.o.Traits.CallIDs {
		response.ID = result.ID
	}
	return append([]part{{Response: response}}, media...), nil
}

// outcome returns a tool result as an object: the tool's own object, or an object with the member names from Google's
// documentation.
func outcome(text string, failed bool) json.RawMessage {
	switch {
	case failed:
		return member("error", text)
	case isObject([]byte(text)):
		return json.RawMessage(strings.TrimSpace(text))
	}
	return member("output", text)
}
