package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	old, flash, pro := TraitsOf("gemini-2.0-flash"), TraitsOf("gemini-2.5-flash"), TraitsOf("gemini-2.5-pro")
	schema := json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"const":1}}}`)
	effort := func(e llm.Effort) llm.Conversation { return llm.Conversation{Effort: e} }
	for name, tc := range map[string]struct {
		conv   llm.Conversation
		traits Traits
		want   string
		warned string
	}{
		"nothing":      {llm.Conversation{}, old, ``, ""},
		"output limit": {llm.Conversation{MaxOutput: 7}, old, `{"maxOutputTokens":7}`, ""},
		"numbers are copied unchanged": {
			llm.Conversation{Choices: 3, Stop: []string{"", "x"}, Sampling: llm.Sampling{Temperature: "0.70", TopP: "1e-1", TopK: "40", FrequencyPenalty: "0.5", PresencePenalty: "-1", Seed: "-7"}},
			old, `{"temperature":0.70,"topP":1e-1,"topK":40,"presencePenalty":-1,"frequencyPenalty":0.5,"seed":-7,"stopSequences":["x"],"candidateCount":3}`, "",
		},
		"too many stop sequences":                  {llm.Conversation{Stop: []string{"1", "2", "3", "4", "5", "6", "7"}}, old, `{"stopSequences":["1","2","3","4","5"]}`, "first 5 stop sequences"},
		"a seed of 64 bits":                        {llm.Conversation{Sampling: llm.Sampling{Seed: "9007199254740993"}}, old, ``, "32-bit"},
		"penalties that are rejected":              {llm.Conversation{Sampling: llm.Sampling{FrequencyPenalty: "0.5"}}, newestTraits, ``, "frequency_penalty was dropped"},
		"penalties without effect":                 {llm.Conversation{Sampling: llm.Sampling{FrequencyPenalty: "0.0"}}, newestTraits, ``, ""},
		"probabilities":                            {llm.Conversation{Sampling: llm.Sampling{Logprobs: true}}, old, ``, "logprobs was dropped"},
		"any JSON":                                 {llm.Conversation{Output: llm.Output{Kind: llm.OutputJSON}}, old, `{"responseMimeType":"application/json"}`, ""},
		"a schema":                                 {llm.Conversation{Output: llm.Output{Kind: llm.OutputSchema, Schema: schema}}, flash, `{"responseMimeType":"application/json","responseJsonSchema":` + string(schema) + `}`, ""},
		"a schema for an old model":                {llm.Conversation{Output: llm.Output{Kind: llm.OutputSchema, Schema: schema}}, old, `{"responseMimeType":"application/json","responseSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","description":"One of: 1."}},"propertyOrdering":["b","a"]}}`, ""},
		"a schema without a schema":                {llm.Conversation{Output: llm.Output{Kind: llm.OutputSchema}}, old, `{"responseMimeType":"application/json"}`, ""},
		"effort for a model without thinking":      {effort(llm.Effort{Level: "high"}), old, ``, "does not think"},
		"effort none for a model without thinking": {effort(llm.Effort{Level: "none"}), old, ``, ""},
		"effort as a budget":                       {effort(llm.Effort{Level: "medium"}), flash, `{"thinkingConfig":{"thinkingBudget":8192,"includeThoughts":true}}`, ""},
		"effort above the maximum":                 {effort(llm.Effort{Level: "max"}), pro, `{"thinkingConfig":{"thinkingBudget":32768,"includeThoughts":true}}`, ""},
		"hidden":                                   {effort(llm.Effort{Level: "low", Hide: true}), flash, `{"thinkingConfig":{"thinkingBudget":1024}}`, ""},
		"off":                                      {effort(llm.Effort{Level: "none"}), flash, `{"thinkingConfig":{"thinkingBudget":0}}`, ""},
		"cannot be disabled":                       {effort(llm.Effort{Level: "none"}), pro, `{"thinkingConfig":{"thinkingBudget":128}}`, "always thinks"},
		"a budget":                                 {effort(llm.Effort{Budget: 2000}), flash, `{"thinkingConfig":{"thinkingBudget":2000,"includeThoughts":true}}`, ""},
		"a budget above the maximum":               {effort(llm.Effort{Budget: 200000}), flash, `{"thinkingConfig":{"thinkingBudget":24576,"includeThoughts":true}}`, "24576 tokens"},
		"dynamic effort":                           {effort(llm.Effort{Adaptive: true}), flash, `{"thinkingConfig":{"thinkingBudget":-1,"includeThoughts":true}}`, ""},
		"dynamic effort of a newer model":          {effort(llm.Effort{Adaptive: true}), newestTraits, `{"thinkingConfig":{"includeThoughts":true}}`, ""},
		"a level":                                  {effort(llm.Effort{Level: "high"}), newestTraits, `{"thinkingConfig":{"thinkingLevel":"high","includeThoughts":true}}`, ""},
		"an unsupported level":                     {effort(llm.Effort{Level: "minimal"}), newestTraits, `{"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}}`, `"minimal" was sent as low`},
		"a budget for a newer model":               {effort(llm.Effort{Budget: 300}), newestTraits, `{"thinkingConfig":{"thinkingBudget":300,"includeThoughts":true}}`, ""},
		"an unknown effort":                        {effort(llm.Effort{Level: "odd"}), flash, `{"thinkingConfig":{"includeThoughts":true}}`, `"odd"`},
		"images in one resolution":                 {llm.Conversation{Messages: []llm.Message{user(media(llm.ImagePart, llm.Media{Type: "image/png", Data: "A", Detail: "low"}))}}, flash, `{"mediaResolution":"MEDIA_RESOLUTION_LOW"}`, ""},
		"images in two resolutions": {
			llm.Conversation{Messages: []llm.Message{user(media(llm.ImagePart, llm.Media{Type: "image/png", Data: "A", Detail: "low"}), media(llm.ImagePart, llm.Media{Type: "image/png", Data: "A", Detail: "high"}))}},
			flash, `{"mediaResolution":"MEDIA_RESOLUTION_HIGH"}`, "one setting for all",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warnings := rendered(t, tc.conv, RenderOptions{Traits: tc.traits}, "generationConfig")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if warning := strings.Join(warnings, "; "); !strings.Contains(warning, tc.warned) || (tc.warned == "") != (warning == "") {
				t.Errorf("warning %q, want %q", warning, tc.warned)
			}
		})
	}
}

func TestOutputLimitAndSampling(t *testing.T) {
	t.Parallel()
	conv := llm.Conversation{Sampling: llm.Sampling{Temperature: "0", TopP: "0.5"}}
	got, warnings := rendered(t, conv, RenderOptions{MaxOutput: 99, FixedSampling: true}, "generationConfig")
	if got != `{"maxOutputTokens":99}` || len(warnings) != 2 {
		t.Errorf("generationConfig %s, warnings %q; want the limit and two warnings", got, warnings)
	}
	conv.Sampling = llm.Sampling{TopP: "0", TopK: "0.0", PresencePenalty: "0"}
	_, warnings = rendered(t, conv, RenderOptions{FixedSampling: true}, "generationConfig")
	want := []string{"top_p was dropped: this model does not support it.", "top_k was dropped: this model does not support it."}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings for zeros (-want +got):\n%s", diff)
	}
	conv.MaxOutput = 5
	if got, _ := rendered(t, conv, RenderOptions{MaxOutput: 99, FixedSampling: true}, "generationConfig"); got != `{"maxOutputTokens":5}` {
		t.Errorf("generationConfig %s, want the limit of the request", got)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	no := false
	weather := llm.Tool{Name: "weather", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":["number","null"]}},"additionalProperties":false}`)}
	bare := llm.Tool{Name: "now", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	shell := llm.Tool{Name: "shell", Custom: true, Format: json.RawMessage(`{"type":"grammar","syntax":"lark","definition":"start: x"}`)}
	search := llm.Tool{Hosted: "web_search"}
	for name, tc := range map[string]struct {
		conv          llm.Conversation
		traits        Traits
		tools, choice string
		warned        string
	}{
		"plain JSON Schema": {
			llm.Conversation{Tools: []llm.Tool{weather, bare}},
			newestTraits,
			`[{"functionDeclarations":[{"name":"weather","description":"d","parametersJsonSchema":` + string(weather.Schema) + `},{"name":"now"}]}]`, ``, "",
		},
		"the subset": {
			llm.Conversation{Tools: []llm.Tool{weather}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto}},
			Traits{},
			`[{"functionDeclarations":[{"name":"weather","description":"d","parameters":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number","nullable":true}}}}]}]`,
			`{"functionCallingConfig":{"mode":"AUTO"}}`, "",
		},
		"one required tool": {
			llm.Conversation{Tools: []llm.Tool{bare}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"now"}}},
			Traits{},
			`[{"functionDeclarations":[{"name":"now"}]}]`, `{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["now"]}}`, "",
		},
		"a subset of tools": {
			llm.Conversation{Tools: []llm.Tool{weather, bare}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"now"}}},
			Traits{},
			`[{"functionDeclarations":[{"name":"now"}]}]`, `{"functionCallingConfig":{"mode":"AUTO"}}`, "",
		},
		"no tool": {
			llm.Conversation{Tools: []llm.Tool{bare}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}, ParallelTools: &no},
			Traits{},
			`[{"functionDeclarations":[{"name":"now"}]}]`, `{"functionCallingConfig":{"mode":"NONE"}}`, "parallel_tool_calls was dropped",
		},
		"free text": {
			llm.Conversation{Tools: []llm.Tool{shell}},
			newestTraits,
			`[{"functionDeclarations":[{"name":"shell","description":"The input must match this grammar (lark):\nstart: x","parametersJsonSchema":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}}]}]`, ``, "",
		},
		"tools of other providers": {
			llm.Conversation{Tools: []llm.Tool{search}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}}, Traits{}, ``, ``, `"web_search" was dropped`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warnings := rendered(t, tc.conv, RenderOptions{Traits: tc.traits}, "tools")
			if diff := cmp.Diff(tc.tools, got); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			choice, _ := rendered(t, tc.conv, RenderOptions{Traits: tc.traits}, "toolConfig")
			if diff := cmp.Diff(tc.choice, choice); diff != "" {
				t.Errorf("choice (-want +got):\n%s", diff)
			}
			if warning := strings.Join(warnings, "; "); !strings.Contains(warning, tc.warned) || (tc.warned == "") != (warning == "") {
				t.Errorf("warning %q, want %q", warning, tc.warned)
			}
		})
	}
}

func TestJSONWithToolsIsRequestedInAnInstruction(t *testing.T) {
	t.Parallel()
	conv := llm.Conversation{
		Messages: []llm.Message{user(text1("a"))}, Tools: []llm.Tool{{Name: "f"}},
		Output: llm.Output{Kind: llm.OutputSchema, Schema: json.RawMessage(`{"type":"object"}`)},
	}
	instruction, warnings := rendered(t, conv, RenderOptions{Traits: TraitsOf("gemini-2.5-pro")}, "systemInstruction")
	if !strings.Contains(instruction, `{\"type\":\"object\"}`) || len(warnings) != 1 {
		t.Errorf("instruction %s, warnings %q; want the schema and one warning", instruction, warnings)
	}
	conv.Output = llm.Output{Kind: llm.OutputJSON}
	if instruction, _ := rendered(t, conv, RenderOptions{}, "systemInstruction"); !strings.Contains(instruction, "JSON") {
		t.Errorf("instruction %s, want JSON", instruction)
	}
	if config, _ := rendered(t, conv, RenderOptions{Traits: newestTraits}, "generationConfig"); !strings.Contains(config, "responseMimeType") {
		t.Errorf("generationConfig of a newer model %s, want responseMimeType with tools", config)
	}
}

func TestUnsupportedFieldsAreReported(t *testing.T) {
	t.Parallel()
	conv := llm.Conversation{
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{media(llm.ImagePart, llm.Media{})}},
			{Role: llm.User, Name: "ann", Parts: []llm.Part{text1("a")}},
			{Role: llm.User, Name: "bob", Parts: []llm.Part{text1("b")}},
		},
		Dropped: []string{"logit_bias", "evil\r\nname", ""}, EndUser: "u", Verbosity: "low", ServiceTier: "scale",
	}
	_, warnings := rendered(t, conv, RenderOptions{Traits: newestTraits}, "contents")
	want := []string{
		"an instruction part that is not text was dropped: Gemini does not support it.",
		"service_tier \"scale\" was dropped: Gemini does not support it.",
		"logit_bias was dropped: Gemini does not support it.", `"evil  name" was dropped: Gemini does not support it.`, `"" was dropped: Gemini does not support it.`,
		"the name of a participant was dropped: Gemini does not support it.",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServiceTier(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "", "auto": "", "flex": `"flex"`, "fast": `"priority"`, "default": `"standard"`} {
		got, warnings := rendered(t, llm.Conversation{ServiceTier: asked}, RenderOptions{Traits: newestTraits}, "service_tier")
		if got != want || len(warnings) > 0 {
			t.Errorf("tier %s: got %s, warnings %q; want %s", asked, got, warnings, want)
		}
	}
}
