package gemini

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// RenderOptions says who a conversation is written for.
type RenderOptions struct {
	Traits        Traits
	Provider      string // whose seals are good here
	MaxOutput     int64  // bounds the answer to a request that has no bound of its own; 0 for none
	FixedSampling bool   // the model refuses temperature and its kin
}

// Render writes a conversation as the body of a request. What the format cannot say is left out with a warning, a sentence
// for the caller; what cannot be left out is an *llm.Error of kind CannotExpress. It returns ClientCancelled when ctx ends.
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
		return nil, nil, fmt.Errorf("write request: %w", err)
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

	calls map[string]llm.ToolCall // the latest call of each id
	order map[string]int          // where each call stands in the latest turn that has calls
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
	r.tier()
	r.unsaid()
	return nil
}

// warn notes a sentence once.
func (r *renderer) warn(format string, args ...any) {
	if len(r.warnings) == show.MaxWarnings {
		return
	}
	if said := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, said) {
		r.warnings = append(r.warnings, said)
	}
}

func (r *renderer) leftOut(what string) { r.warn("%s was left out: Gemini does not take it.", what) }

func invalid(param, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.Untranslatable, format, args...)
	e.Param = param
	return e
}

// system writes the instructions: apart from the conversation, or at its beginning for a model that knows no such place.
func (r *renderer) system(said []llm.Part, instruction string) {
	var parts []part
	for _, p := range said {
		switch {
		case p.Kind != llm.TextPart:
			r.warn("a part of the instructions that is no text was left out: Gemini does not take it.")
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
		r.warn("the instructions were sent as the user's words: Gemini takes no conversation without any.")
	case !r.o.Traits.NoSystem:
		r.out.System = &content{Parts: parts}
	case contents[0].Role == roleUser && contents[0].Parts[0].Response == nil:
		contents[0].Parts = slices.Concat(parts, contents[0].Parts)
	default:
		r.out.Contents = slices.Insert(contents, 0, content{Role: roleUser, Parts: parts})
	}
}

// tier asks for a service tier by Google's names.
func (r *renderer) tier() {
	asked := r.conv.ServiceTier
	names := map[string]string{"flex": "flex", "priority": "priority", "fast": "priority", "default": "standard", "standard": "standard"}
	switch {
	case asked == "" || asked == "auto":
	case !r.o.Traits.Tiers || names[asked] == "":
		r.leftOut("service_tier " + show.Quote(asked))
	default:
		r.out.Tier = names[asked]
	}
}

// unsaid warns of what the vocabulary or the format has no place for.
func (r *renderer) unsaid() {
	for _, name := range r.conv.Dropped {
		r.leftOut(plain(name))
	}
	if r.conv.EndUser != "" {
		r.leftOut("the end user's name")
	}
	if r.conv.Verbosity != "" {
		r.leftOut("verbosity")
	}
	for _, m := range r.conv.Messages {
		if m.Name != "" {
			r.leftOut("the name of a speaker")
		}
	}
}

// plain shows a member's name in a sentence: as it is when it is a word, else quoted.
func plain(name string) string {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return show.Quote(name)
		}
	}
	return cmp.Or(show.Cut(name, 60), `""`)
}
