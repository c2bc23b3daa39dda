package bedrock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// RenderOptions holds the settings for encoding a conversation.
type RenderOptions struct {
	Dialect     Dialect
	Signers     []string // providers whose thinking signatures the target accepts
	MaxOutput   int64    // output limit for a conversation without one; 0 for none
	ModelOutput int64    // output limit of the model; 0 when unknown
}

// Render encodes a conversation as a Converse request. The warnings describe changes. Errors are *llm.Error of kind Untranslatable for
// content that the API does not support, or of kind ClientCancelled when ctx is cancelled.
func Render(ctx context.Context, conv *llm.Conversation, o RenderOptions) (body []byte, warnings []string, err error) {
	r := &renderer{ctx: ctx, conv: conv, o: o, d: o.Dialect, plan: NewPlan(conv, o.Dialect), documents: map[string]int{}}
	r.tools()
	r.messages()
	r.limitPoints()
	r.output()
	r.encodeThinking()
	r.settings()
	r.leftOut()
	for _, text := range r.instructions {
		r.out.System = append(r.out.System, block{Text: text})
	}
	if r.d.NoSystem && len(r.out.System) > 0 && len(r.out.Messages) > 0 {
		first := &r.out.Messages[0]
		first.Content = append(r.out.System, first.Content...)
		r.out.System = nil
		r.warnings.Add("instructions were moved into the first message: the model does not support system messages.")
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, nil, err
	}
	if body, err = encode(r.out); err != nil {
		return nil, nil, fmt.Errorf("encode conversation: %w", err)
	}
	return body, r.warnings, nil
}

type renderer struct {
	ctx  context.Context
	conv *llm.Conversation
	o    RenderOptions
	d    Dialect
	plan Plan
	out  request

	warnings     show.Warnings
	instructions []string       // instructions that are added after the client's instructions
	documents    map[string]int // document names, each with the last number that was appended to it
	points       int            // number of cache points, before limitPoints removes any
	noSampling   bool           // whether the provider would reject sampling settings because of another setting
	err          error
}

// without adds a warning that content was dropped.
func (r *renderer) without(what string) {
	r.warnings.Add("%s was dropped: %s does not support it.", what, r.d.Title)
}

func (r *renderer) fail(format string, args ...any) {
	if r.err == nil {
		e := llm.Errorf(llm.Untranslatable, format, args...)
		e.Param = "messages"
		r.err = e
	}
}

// messages encodes system messages and turns. Turns must alternate and begin with the user.
func (r *renderer) messages() {
	system, turns := r.conv.Turns()
	for _, p := range system {
		if !blank(p.Text) {
			r.out.System = append(r.out.System, r.marked([]block{{Text: p.Text}}, p.Cache)...)
		}
	}
	for _, turn := range turns {
		if r.ctx.Err() != nil {
			return
		}
		r.turn(turn)
	}
	placeholder := message{Role: string(llm.User), Content: []block{{Text: "…"}}}
	switch {
	case len(r.out.Messages) > 0 && r.out.Messages[0].Role == string(llm.Assistant):
		r.out.Messages = slices.Insert(r.out.Messages, 0, placeholder)
		r.warnings.Add("a user message was added at the beginning: %s does not accept an assistant message first.", r.d.Title)
	case len(r.out.Messages) > 0:
	case len(r.out.System) == 0:
		r.fail("The conversation has no message with content. Send at least one message with text.")
	case r.d.NoSystem:
		r.out.Messages = []message{{Role: string(llm.User)}} // Render moves the instructions into this message
	default:
		r.out.Messages = []message{placeholder}
		r.warnings.Add("a user message was added after the instructions: %s requires at least one.", r.d.Title)
	}
	if r.prefilled() { // the API rejects trailing white space
		content := r.out.Messages[len(r.out.Messages)-1].Content
		last := &content[len(content)-1]
		last.Text = strings.TrimRight(last.Text, " \t\r\n")
	}
}

func (r *renderer) turn(turn llm.Message) {
	if turn.Name != "" {
		r.without("messages.name")
	}
	var blocks []block
	if turn.Role == llm.Assistant {
		blocks = r.assistantBlocks(turn.Parts)
	} else {
		blocks = r.userBlocks(turn.Parts)
	}
	if !slices.ContainsFunc(blocks, func(b block) bool { return b.CachePoint == nil }) {
		return // without content, a cache point is not sent
	}
	if n := len(r.out.Messages); n > 0 && r.out.Messages[n-1].Role == string(turn.Role) { // an empty turn between these two was dropped
		rank := func(b block) int {
			if b.Reasoning != nil || b.ToolResult != nil {
				return 0 // thinking and tool results must come first
			}
			return 1
		}
		joined := slices.Concat(r.out.Messages[n-1].Content, blocks)
		slices.SortStableFunc(joined, func(a, b block) int { return rank(a) - rank(b) })
		r.out.Messages[n-1].Content = joined
		return
	}
	r.out.Messages = append(r.out.Messages, message{Role: string(turn.Role), Content: blocks})
}

// prefilled reports whether the last message is a prefill, which the model continues.
func (r *renderer) prefilled() bool {
	last := len(r.out.Messages) - 1
	return last >= 0 && r.out.Messages[last].Role == string(llm.Assistant)
}

// instruct adds an instruction after the client's instructions. For models without system messages, Render adds it to
// the first message.
func (r *renderer) instruct(text string) { r.instructions = append(r.instructions, text) }

// leftOut adds warnings about content that the format cannot express.
func (r *renderer) leftOut() {
	c, s := r.conv, r.conv.Sampling
	oneCall := r.oneCall()
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"n", c.Choices > 1},
		{"frequency_penalty", s.FrequencyPenalty != "" && !llm.IsDefaultSampling("frequency_penalty", s.FrequencyPenalty)},
		{"presence_penalty", s.PresencePenalty != "" && !llm.IsDefaultSampling("presence_penalty", s.PresencePenalty)},
		{"seed", s.Seed != ""},
		{"logprobs", s.Logprobs || s.TopLogprobs > 0},
		{"parallel_tool_calls", !oneCall},
	} {
		if x.given {
			r.without(x.name)
		}
	}
	for _, name := range c.Dropped {
		r.without(show.Name(name))
	}
}
