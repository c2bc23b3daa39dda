package gemini

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// RenderOptions holds the settings for encoding a conversation.
type RenderOptions struct {
	Traits        Traits
	Provider      string // name of the provider whose signatures the target accepts
	MaxOutput     int64  // output limit for a request without one; 0 for none
	FixedSampling bool   // whether the model rejects temperature and other sampling settings
}

// Render encodes a conversation as the body of a request. Unsupported settings are dropped with a warning. Unsupported content is an
// *llm.Error of kind Untranslatable. Render returns ClientCancelled when ctx is cancelled.
func Render(ctx context.Context, conv *llm.Conversation, o RenderOptions) (body []byte, warnings []string, err error) {
	r := renderer{ctx: ctx, conv: conv, o: o, schemas: newSchemaBudget(conv)}
	if err := r.render(); err != nil {
		return nil, nil, err
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, nil, err
	}
	body, err = encode(r.out)
	if err != nil {
		return nil, nil, fmt.Errorf("encode request: %w", err)
	}
	return body, r.warnings, nil
}

type renderer struct {
	ctx      context.Context
	conv     *llm.Conversation
	o        RenderOptions
	out      request
	schemas  *schemaBudget
	warnings []string

	calls map[string]llm.ToolCall // latest call by ID
	order map[string]int          // position of each call in the latest turn with calls
}

func (r *renderer) render() error {
	system, turns := r.conv.Turns()
	if err := r.turns(turns); err != nil {
		return err
	}
	if err := r.tools(); err != nil {
		return err
	}
	instruction, err := r.settings()
	if err != nil {
		return err
	}
	r.system(system, instruction)
	if len(r.out.Contents) > 0 && r.out.Contents[0].Role == roleModel {
		r.out.Contents = slices.Insert(r.out.Contents, 0, content{Role: roleUser, Parts: []part{textPart("…")}})
		r.warn("a user message was added at the beginning: Gemini does not accept a model message first.")
	}
	tiers := map[string]string{"flex": "flex", "priority": "priority", "fast": "priority", "default": "standard", "standard": "standard"}
	switch asked := r.conv.ServiceTier; {
	case asked == "" || asked == "auto":
	case !r.o.Traits.Tiers || tiers[asked] == "":
		r.leftOut("service_tier " + show.Quote(asked))
	default:
		r.out.Tier = tiers[asked]
	}
	for _, name := range r.conv.Dropped {
		r.leftOut(plain(name))
	}
	if slices.ContainsFunc(r.conv.Messages, func(m llm.Message) bool { return m.Name != "" }) {
		r.leftOut("the name of a participant")
	}
	return nil
}

// warn records a warning, unless it is already recorded or the number of warnings has reached show.MaxWarnings.
func (r *renderer) warn(format string, args ...any) {
	if len(r.warnings) == show.MaxWarnings {
		return
	}
	if message := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, message) {
		r.warnings = append(r.warnings, message)
	}
}

func (r *renderer) leftOut(what string) { r.warn("%s was dropped: Gemini does not support it.", what) }

func invalid(param, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.Untranslatable, format, args...)
	e.Param = param
	return e
}

// system encodes the instructions as systemInstruction. If the model does not support this member, or if the
// conversation has no other content, the instructions become the first content.
func (r *renderer) system(systemParts []llm.Part, instruction string) {
	var parts []part
	for _, p := range systemParts {
		switch {
		case p.Kind != llm.TextPart:
			r.warn("an instruction part that is not text was dropped: Gemini does not support it.")
		case p.Text != "":
			parts = append(parts, textPart(p.Text))
		}
	}
	if instruction != "" {
		parts = append(parts, textPart(instruction))
	}
	contents := r.out.Contents
	switch {
	case len(parts) == 0:
	case len(contents) == 0:
		r.out.Contents = []content{{Role: roleUser, Parts: parts}}
		r.warn("the instructions were sent as a user message: Gemini requires at least one.")
	case !r.o.Traits.NoSystem:
		r.out.System = &content{Parts: parts}
	case contents[0].Role == roleUser && contents[0].Parts[0].Response == nil:
		contents[0].Parts = slices.Concat(parts, contents[0].Parts)
	default:
		r.out.Contents = slices.Insert(contents, 0, content{Role: roleUser, Parts: parts})
	}
}

// plain formats a member name for a warning or error message. A name that consists of letters, digits and common separators is cut to 60
// bytes; any other name is quoted.
func plain(name string) string {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return show.Quote(name)
		}
	}
	return cmp.Or(show.Cut(name, 60), `""`)
}
