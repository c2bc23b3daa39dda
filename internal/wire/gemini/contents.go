package gemini

import (
	"encoding/json"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// ForeignSignature is the value that the API accepts in place of a signature, for a call that another model made.
const ForeignSignature = "skip_thought_signature_validator"

// turns encodes the conversation. The tool results of a user turn come first, as a separate element of contents.
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
		parts, err := r.userParts(turn.Parts)
		if err != nil {
			return err
		}
		r.add(roleUser, parts)
	}
	return nil
}

func (r *renderer) add(role string, parts []part) {
	if len(parts) > 0 {
		r.out.Contents = append(r.out.Contents, content{Role: role, Parts: parts})
	}
}

// userParts writes user content other than results. Empty text is dropped because the API rejects it.
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

// modelTurn encodes a model turn. The text of thinking is not sent. Only its signature is sent, as a member of the following text part,
// where the model originally put it.
func (r *renderer) modelTurn(turn []llm.Part) error {
	if slices.ContainsFunc(turn, func(p llm.Part) bool { return p.Kind == llm.CallPart }) {
		r.order = map[string]int{} // a new map, because clearing a large map is as expensive as filling it
	}
	var parts []part
	signature := "" // signature to attach to the next text
	lastText, firstCall := -1, -1
	for _, p := range turn {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			if p.Text != "" {
				out := textPart(p.Text)
				out.Signature, signature = signature, ""
				lastText = len(parts)
				parts = append(parts, out)
			}
		case llm.ThinkingPart:
			if p.Thinking != nil && p.Thinking.Provider == r.o.Provider && p.Thinking.Signature != "" {
				signature = p.Thinking.Signature
			}
		case llm.CallPart:
			c := *p.Call
			out := part{Call: &functionCall{Name: c.Name, Args: arguments(c)}}
			if r.o.Traits.CallIDs {
				out.Call.ID = c.ID
			}
			if c.Provider == r.o.Provider || c.Provider == "" { // only clients of Google's API send a signature without a provider
				out.Signature = c.Signature
			}
			r.calls[c.ID] = c
			r.order[c.ID] = len(r.order)
			if firstCall < 0 {
				firstCall = len(parts)
			}
			parts = append(parts, out)
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.media(p)
			if err != nil {
				return err
			}
			parts = append(parts, m)
		case llm.ResultPart:
		}
	}
	if signature != "" { // no text followed the thinking, so attach its signature to the last text part
		if lastText < 0 {
			lastText = len(parts)
			parts = append(parts, textPart(""))
		}
		parts[lastText].Signature = signature
	}
	if firstCall >= 0 && r.o.Traits.NeedsSignatures && parts[firstCall].Signature == "" {
		parts[firstCall].Signature = ForeignSignature
	}
	r.add(roleModel, parts)
	return nil
}

// arguments encodes the arguments of a call as an object, even if the model generated a value of another type.
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

// member returns a JSON object whose only member has the given name and text.
func member(name, text string) json.RawMessage {
	raw, _ := encode(map[string]string{name: text}) // encoding a string cannot fail
	return raw
}

// results encodes tool results in the order of their calls, because models without call IDs match results and calls by
// their order.
func (r *renderer) results(parts []llm.Part) ([]part, error) {
	var found []llm.ToolResult
	for _, p := range parts {
		if p.Kind == llm.ResultPart {
			found = append(found, *p.Result)
		}
	}
	place := func(id string) int {
		if place, ok := r.order[id]; ok {
			return place
		}
		return len(r.order)
	}
	slices.SortStableFunc(found, func(a, b llm.ToolResult) int { return place(a.ID) - place(b.ID) })
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

// result encodes one result, followed by its images and files.
func (r *renderer) result(result llm.ToolResult) ([]part, error) {
	name := result.Name
	if call, ok := r.calls[result.ID]; ok {
		name = call.Name
	}
	if name == "" {
		return nil, invalid("messages", "The result of tool call %s has no matching tool call in an earlier message. Send the tool call before its result.", show.Quote(result.ID))
	}
	texts, media := []string{}, []part{}
	for _, p := range result.Parts {
		switch p.Kind {
		case llm.TextPart, llm.RefusalPart:
			texts = append(texts, p.Text)
		case llm.ImagePart, llm.AudioPart, llm.FilePart:
			m, err := r.media(p)
			if err != nil {
				return nil, err
			}
			media = append(media, m)
		default:
		}
	}
	// A successful result that is a JSON object is sent unchanged. Any other result becomes an object with one member, whose name is given
	// in Google's documentation.
	text := strings.Join(texts, "\n")
	response := &functionResponse{Name: name}
	switch {
	case result.Failed:
		response.Response = member("error", text)
	case isObject([]byte(text)):
		response.Response = json.RawMessage(strings.TrimSpace(text))
	default:
		response.Response = member("output", text)
	}
	if r.o.Traits.CallIDs {
		response.ID = result.ID
	}
	return append([]part{{Response: response}}, media...), nil
}
