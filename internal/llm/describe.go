package llm

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unsafe"
)

// Describe derives the properties of a request from its conversation: what it needs, its messages, the length of its text and its
// attachments. The properties of the other fields of the request stay as they are: formats call Describe once after they have decoded a
// request, and add what the conversation does not contain.
func (r *Request) Describe() {
	c := r.Conversation
	r.describeSettings(c)
	var texts []string
	r.Plain = !r.hasCustomTools(c)
	instructions := true // whether only system messages came before
	for i := range c.Messages {
		m := &c.Messages[i]
		r.Messages++
		switch m.Role {
		case Assistant:
			r.Answers++
		case User:
			if text := firstText(m.Parts); text != "" {
				r.Asked = text
			}
		default:
			r.Plain = r.Plain && instructions
		}
		instructions = instructions && m.Role == System
		texts = appendText(texts, m.Name)
		texts = r.describeParts(texts, m.Parts)
	}
	r.Plain = r.Plain && !r.HasSignatures
	texts = appendToolTexts(texts, c.Tools)
	if out := &c.Output; out.Kind == OutputSchema {
		texts = appendText(texts, "name", out.Name)
		texts = appendText(texts, out.Description)
		texts = appendJSONStrings(texts, out.Schema)
	}
	r.CountText(texts...)
}

// describeSettings derives the abilities that the settings and tools need.
func (r *Request) describeSettings(c *Conversation) {
	need := func(yes bool, a Abilities) {
		if yes {
			r.Needs |= a
		}
	}
	for i := range c.Tools {
		tool := &c.Tools[i]
		need(tool.Hosted == "" || tool.Raw != nil, Tools) // without a definition, the search is a setting of the request
		need(tool.Search != nil, WebSearch)
		r.Hosted = r.Hosted || tool.Hosted != ""
		if tool.Search != nil {
			r.MaxSearches = max(r.MaxSearches, tool.Search.MaxUses)
		}
	}
	need(c.ParallelTools != nil && *c.ParallelTools, ParallelTools)
	need(c.Output.Kind == OutputJSON, JSONMode)
	need(c.Output.Kind == OutputSchema, JSONSchema)
	need(c.Sampling.Logprobs, Logprobs)
	need(r.Choices > 1, ManyChoices)
	if r.Effort = c.Effort.Level; r.Effort == "" && (c.Effort.Budget > 0 || c.Effort.Adaptive) {
		r.Effort = CustomEffort
	}
	need(Reasons(r.Effort), Reasoning)
}

func (r *Request) hasCustomTools(c *Conversation) bool {
	for i := range c.Tools {
		if c.Tools[i].Custom {
			return true
		}
	}
	for i := range c.Messages {
		for j := range c.Messages[i].Parts {
			if call := c.Messages[i].Parts[j].Call; call != nil && call.Custom {
				return true
			}
		}
	}
	return false
}

// firstText returns the first text among the parts; empty if there is none.
func firstText(parts []Part) string {
	for i := range parts {
		if parts[i].Kind == TextPart && parts[i].Text != "" {
			return parts[i].Text
		}
	}
	return ""
}

// Member names of a tool call and of a tool definition. They are counted because the model reads them in some form.
var (
	callNames = []string{"id", "type", "function", "function", "name", "arguments"}
	toolNames = []string{"type", "function", "function", "name"}
)

// describeParts appends the texts of the parts and records their attachments and signatures.
func (r *Request) describeParts(texts []string, parts []Part) []string {
	for i := range parts {
		p := &parts[i]
		texts = appendText(texts, p.Text)
		switch {
		case p.Thinking != nil:
			texts = appendText(texts, p.Thinking.Text)
			r.HasSignatures = r.HasSignatures || p.Thinking.Signature != "" || p.Thinking.Redacted != ""
		case p.Call != nil:
			texts = append(texts, callNames...)
			texts = appendText(texts, p.Call.ID, p.Call.Name, p.Call.Arguments)
			r.HasSignatures = r.HasSignatures || p.Call.Signature != ""
		case p.Result != nil:
			texts = r.describeParts(appendText(texts, p.Result.ID), p.Result.Parts)
		case p.Media != nil:
			r.describeMedia(p.Kind, p.Media)
		}
	}
	return texts
}

// describeMedia records an attachment. The tokens of an image are estimated from its size; the tokens of other media are known only to the
// provider.
func (r *Request) describeMedia(kind PartKind, m *Media) {
	switch {
	case kind == ImagePart && (m.Data == "" || m.Type == "" || strings.HasPrefix(m.Type, "image/")):
		r.Needs |= Vision
		r.Images++
		r.ImageBytes += len(m.Data)
		if m.URL != "" {
			r.ImageURLs++
		}
		r.AddImage(ImageOf(m.Data, m.Detail))
		return
	case kind == ImagePart: // some providers accept media other than images in an image part
		r.Needs |= Vision
		r.Images++
	case kind == AudioPart && m.FileID == "":
		r.Needs |= AudioIn
	case kind == FilePart:
		r.Needs |= Files
	}
	r.Unsized++
	r.AttachedBytes += len(m.Data)
}

func appendToolTexts(texts []string, tools []Tool) []string {
	for i := range tools {
		tool := &tools[i]
		if tool.Hosted != "" {
			texts = appendJSONStrings(texts, tool.Raw)
			continue
		}
		texts = append(texts, toolNames...)
		texts = appendText(texts, tool.Name)
		if tool.Description != "" {
			texts = append(texts, "description", tool.Description)
		}
		if tool.Schema != nil {
			texts = appendJSONStrings(append(texts, "parameters"), tool.Schema)
		}
		texts = appendJSONStrings(texts, tool.Format)
	}
	return texts
}

func appendText(texts []string, some ...string) []string {
	for _, s := range some {
		if s != "" {
			texts = append(texts, s)
		}
	}
	return texts
}

// appendJSONStrings appends the strings of a JSON value, including member names. Strings without escapes share memory with raw.
func appendJSONStrings(texts []string, raw []byte) []string {
	for {
		start := bytes.IndexByte(raw, '"') + 1
		if start == 0 {
			return texts
		}
		raw = raw[start:]
		end, escaped := 0, false
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		end = min(end, len(raw))
		text := raw[:end]
		if escaped {
			text = unescape(make([]byte, 0, end), text)
		}
		texts = appendText(texts, unsafe.String(unsafe.SliceData(text), len(text))) // neither raw nor the decoded text changes
		raw = raw[min(end+1, len(raw)):]
	}
}

// CountText adds texts to the length and the character counts of the prompt. Of long texts it counts only samples.
func (s *PromptSize) CountText(texts ...string) {
	all := 0
	for _, text := range texts {
		foreign := countNonASCII(text)
		s.NonASCIIBytes += foreign
		s.ASCIIBytes += len(text) - foreign
		all += len(text)
	}
	var sum weightedCounts
	if all <= wholeSample {
		for _, text := range texts {
			sum.addText(text, 1, false)
		}
	} else {
		sampleTexts(texts, all, &sum)
	}
	if sum.bytes > 0 {
		for class, n := range sum.counts {
			s.Text.Counts[class] += int32(max(0, n*float64(all)/sum.bytes+0.5))
		}
	}
}

// CountJSON adds the strings of a JSON value, including member names, to the prompt. It returns their length.
func (s *PromptSize) CountJSON(raw []byte) int {
	before := s.ASCIIBytes + s.NonASCIIBytes
	s.CountText(appendJSONStrings(nil, raw)...)
	return s.ASCIIBytes + s.NonASCIIBytes - before
}

// sampleTexts measures sampleWindows windows at even distances in the concatenated texts.
func sampleTexts(texts []string, all int, sum *weightedCounts) {
	stride := (all + sampleWindows - 1) / sampleWindows
	begin := 0 // position of the text in the concatenated texts
	window := 0
	for _, text := range texts {
		for ; window*stride < begin+len(text); window++ {
			width := min(len(text), sampleWindow)
			// The pseudo-random offset below stride keeps windows from aligning with repetitions in the text.
			offset := int(uint64(window+1) * 0x9E3779B97F4A7C15 >> 32 % uint64(stride))
			from := (max(0, window*stride-begin) + offset) % (len(text) - width + 1)
			sum.addText(text[from:from+width], float64(stride)/float64(width), from > 0)
		}
		begin += len(text)
	}
}

// countNonASCII returns the number of non-ASCII bytes in s.
func countNonASCII(s string) (n int) {
	const high = 0x8080808080808080
	raw := unsafe.Slice(unsafe.StringData(s), len(s))
	for ; len(raw) >= 8; raw = raw[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(raw) & high)
	}
	for _, c := range raw {
		n += int(c >> 7)
	}
	return n
}

// Translate returns the conversation for a provider of another format. It returns an error of kind Untranslatable for content that the
// conversation cannot express.
func (r *Request) Translate() (*Conversation, error) {
	if r.Untranslatable != nil {
		return nil, r.Untranslatable
	}
	return r.Conversation, nil
}
