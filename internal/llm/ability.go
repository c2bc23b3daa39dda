package llm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Abilities is a set of features that a request may need and a model may support.
type Abilities uint32

// Abilities that determine whether a model can serve a request.
const (
	Tools Abilities = 1 << iota
	ParallelTools
	Vision
	AudioIn
	AudioOut
	Files
	JSONMode
	JSONSchema
	Logprobs
	ManyChoices
	Reasoning
	Prefill      // continues a response whose beginning is in the request
	ResponsesAPI // features that only OpenAI's Responses API offers: stored responses and most hosted tools
	WebSearch    // ability to search the web
	MessagesAPI  // features that only Anthropic's Messages API offers: its hosted tools, MCP servers, containers, files and citations
)

var abilityNames = []string{
	"tools", "parallel_tools", "vision", "audio_in", "audio_out", "files",
	"json_mode", "json_schema", "logprobs", "many_choices", "reasoning", "prefill", "responses_api", "web_search", "messages_api",
}

// Reasons reports whether the given reasoning effort or thinking type asks for reasoning. It returns false for an empty effort, and for
// "none", "minimal" and "disabled", which every model can serve.
func Reasons(effort string) bool {
	switch effort {
	case "", "none", "minimal", "disabled":
		return false
	}
	return true
}

// Has reports whether the set contains all abilities in want.
func (a Abilities) Has(want Abilities) bool { return a&want == want }

// Transport is the set of abilities that depend on a provider's API rather than on the model. Each target lists which of them its API
// lacks.
const Transport = ResponsesAPI | WebSearch | MessagesAPI

// Missing returns the abilities in want that the set does not contain.
func (a Abilities) Missing(want Abilities) Abilities { return want &^ a }

// Names returns the names of the abilities in a fixed order.
func (a Abilities) Names() []string {
	names := []string{}
	for i, name := range abilityNames {
		if a&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (a Abilities) String() string { return strings.Join(a.Names(), "+") }

// ParseAbility returns the ability with the given name.
func ParseAbility(name string) (Abilities, error) {
	for i, known := range abilityNames {
		if known == name {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown ability %q; known abilities are %s", name, strings.Join(abilityNames, ", "))
}

// MarshalJSON encodes the abilities as a list of names.
func (a Abilities) MarshalJSON() ([]byte, error) {
	if a == 0 {
		return []byte("[]"), nil
	}
	return json.Marshal(a.Names())
}

// UnmarshalJSON decodes a list of names.
func (a *Abilities) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*a = 0
	for _, name := range names {
		one, err := ParseAbility(name)
		if err != nil {
			return err
		}
		*a |= one
	}
	return nil
}
