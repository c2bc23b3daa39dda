package bedrock

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// blank reports whether the API would reject the text as empty.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// userBlocks encodes user content. Tool results come first, without other blocks between them. A message with a
// document must also have a text block.
func (r *renderer) userBlocks(parts []llm.Part) []block {
	var results, rest []block
	for _, p := range parts {
		if p.Kind == llm.ResultPart {
			result := &toolResult{ID: r.callID(p.Result.ID), Content: []block{}}
			for _, inner := range p.Result.Parts {
				result.Content = append(result.Content, r.content(inner)...)
			}
			if p.Result.Failed && r.d.Status {
				result.Status = "error"
			}
			results = append(results, r.marked([]block{{ToolResult: result}}, markOf(p))...)
			continue
		}
		rest = append(rest, r.marked(r.content(p), p.Cache)...)
	}
	hasDocument := slices.ContainsFunc(rest, func(b block) bool { return b.Document != nil })
	if hasDocument && !slices.ContainsFunc(rest, func(b block) bool { return b.Text != "" }) {
		rest = append([]block{{Text: "See the document."}}, rest...)
	}
	return append(results, rest...)
}

// content encodes one part of a user message or of a tool result.
func (r *renderer) content(p llm.Part) []block {
	switch p.Kind {
	case llm.TextPart, llm.RefusalPart:
		if !blank(p.Text) {
			return []block{{Text: p.Text}}
		}
	case llm.ImagePart:
		return []block{{Image: r.image(p.Media)}}
	case llm.FilePart:
		return r.file(p.Media)
	case llm.AudioPart:
		src, ok := r.source(p.Media, "sounds")
		if !ok {
			return nil
		}
		format := audioFormats[strings.ToLower(p.Media.Type)]
		if format == "" {
			r.fail("%s accepts only WAV, MP3, FLAC, Ogg, AAC, MP4 and WebM audio, not %s.", r.d.Title, show.Quote(p.Media.Type))
		}
		return []block{{Audio: &media{Format: format, Source: src}}}
	case llm.ThinkingPart, llm.CallPart, llm.ResultPart:
	}
	return nil
}

// assistantBlocks encodes an earlier assistant message. Thinking comes first, if the model accepts it.
func (r *renderer) assistantBlocks(parts []llm.Part) []block {
	var thought, rest []block
	for _, p := range parts {
		switch p.Kind {
		case llm.ThinkingPart:
			t := p.Thinking
			sealed := t.Signature != "" || t.Redacted != ""
			switch { // the API rejects thinking without a valid signature
			case !r.d.KeepThinking || !sealed || !slices.Contains(r.o.Signers, t.Provider):
				r.warnings.Add("thinking of earlier turns was dropped: it has no signature of %s.", r.d.Title)
			case t.Redacted != "":
				thought = append(thought, block{Reasoning: &reasoning{Redacted: t.Redacted}})
			default:
				thought = append(thought, block{Reasoning: &reasoning{Text: &reasoningText{Text: t.Text, Signature: t.Signature}}})
			}
		case llm.CallPart:
			rest = append(rest, r.marked([]block{r.call(p.Call)}, p.Cache)...)
		case llm.AudioPart:
			r.without("audio in an assistant message")
		case llm.TextPart, llm.RefusalPart, llm.ImagePart, llm.FilePart, llm.ResultPart:
			rest = append(rest, r.marked(r.content(p), p.Cache)...)
		}
	}
	return append(thought, rest...)
}

// call encodes a tool call by the model. The input must be an object.
func (r *renderer) call(c *llm.ToolCall) block {
	use := &toolUse{ID: r.callID(c.ID), Name: r.plan.providerName(c.Name)}
	input := jsontext.Value(strings.TrimSpace(c.Arguments))
	switch {
	case c.Custom:
		use.Input, _ = encode(map[string]string{customInput: c.Arguments}) // encoding a string cannot fail
	case len(input) == 0:
		use.Input = jsontext.Value(`{}`)
	case input.Kind() == '{' && input.IsValid(lenient):
		use.Input = input
	default:
		use.Input, _ = encode(map[string]string{customInput: c.Arguments})
		r.warnings.Add("the arguments of an earlier call of %s were wrapped: they are not a JSON object.", show.Name(c.Name))
	}
	return block{ToolUse: use}
}

// marked appends a cache point to blocks if mark is not nil, blocks is not empty, and the model accepts a cache point here.
func (r *renderer) marked(blocks []block, mark *llm.CacheMark) []block {
	if len(blocks) == 0 {
		return nil
	}
	if p := r.cachePoint(mark, CacheText); p != nil {
		return append(blocks, block{CachePoint: p})
	}
	return blocks
}

// markOf returns the part's cache mark. A mark inside a tool result applies to the result.
func markOf(p llm.Part) *llm.CacheMark {
	if p.Cache != nil || p.Kind != llm.ResultPart {
		return p.Cache
	}
	for _, inner := range p.Result.Parts {
		if inner.Cache != nil {
			return inner.Cache
		}
	}
	return nil
}

// cachePoint returns a cache point, or nil if mark is nil or the model does not allow a cache point at this position.
func (r *renderer) cachePoint(mark *llm.CacheMark, place Cache) *cachePoint {
	if mark == nil {
		return nil
	}
	if r.d.Cache < place {
		r.without("a cache marker")
		return nil
	}
	r.points++
	p := &cachePoint{Type: "default"}
	switch {
	case mark.TTL == "1h" && !r.d.LongCache:
		r.warnings.Add("the cache marker has the default lifetime: the model supports no other.")
	case mark.TTL == "1h":
		p.TTL = mark.TTL
	}
	return p
}

// limitPoints removes cache points if the request has more than maxCachePoints. The last ones are kept, because they cover the longest
// prefixes.
func (r *renderer) limitPoints() {
	extra := r.points - maxCachePoints
	if extra <= 0 {
		return
	}
	r.warnings.Add("cache markers were dropped: a request can have %d.", maxCachePoints)
	remove := func(p *cachePoint) bool {
		if p == nil || extra == 0 {
			return false
		}
		extra--
		return true
	}
	removeFrom := func(blocks []block) []block {
		return slices.DeleteFunc(blocks, func(b block) bool { return remove(b.CachePoint) })
	}
	if config := r.out.ToolConfig; config != nil {
		config.Tools = slices.DeleteFunc(config.Tools, func(t tool) bool { return remove(t.CachePoint) })
	}
	r.out.System = removeFrom(r.out.System)
	for i := range r.out.Messages {
		r.out.Messages[i].Content = removeFrom(r.out.Messages[i].Content)
	}
}
