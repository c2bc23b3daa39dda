package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func conversationWith(change func(*llm.Conversation)) llm.Conversation {
	conv := llm.Conversation{Messages: []llm.Message{user(text("q"))}}
	change(&conv)
	return conv
}

func TestInferenceConfig(t *testing.T) {
	t.Parallel()
	one := able
	one.OneSampler = true
	fixed := able
	fixed.FixedSampler = true
	sampled := func(c *llm.Conversation) {
		c.Sampling = llm.Sampling{Temperature: "0.70", TopP: "1e-1", TopK: "40"}
		c.Stop = []string{"END"}
	}
	tests := map[string]struct {
		conv    llm.Conversation
		options RenderOptions
		want    string
		warns   int
	}{
		"nothing":                      {conversationWith(func(*llm.Conversation) {}), RenderOptions{Dialect: able}, "", 0},
		"numbers are copied unchanged": {conversationWith(sampled), RenderOptions{Dialect: able}, `{"temperature":0.70,"topP":1e-1,"stopSequences":["END"]}`, 0},
		"temperature without top_p":    {conversationWith(sampled), RenderOptions{Dialect: one}, `{"temperature":0.70,"stopSequences":["END"]}`, 1},
		"fixed sampling":               {conversationWith(sampled), RenderOptions{Dialect: fixed}, `{"stopSequences":["END"]}`, 3},
		"the client's limit":           {conversationWith(func(c *llm.Conversation) { c.MaxOutput = 9 }), RenderOptions{MaxOutput: 5}, `{"maxTokens":9}`, 0},
		"the budget's limit":           {conversationWith(func(*llm.Conversation) {}), RenderOptions{MaxOutput: 5}, `{"maxTokens":5}`, 1},
		"limit with thinking":          {conversationWith(func(c *llm.Conversation) { c.Effort.Level = "high" }), RenderOptions{Dialect: able, ModelOutput: 64000}, `{"maxTokens":64000}`, 0},
		"sampling with thinking":       {conversationWith(func(c *llm.Conversation) { sampled(c); c.Effort.Level = "high" }), RenderOptions{Dialect: able}, `{"stopSequences":["END"]}`, 3},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warnings := render(t, tc.conv, tc.options, "inferenceConfig")
			if got != tc.want || len(warnings) != tc.warns {
				t.Errorf("inferenceConfig %s, warnings %q; want %s and %d warnings", got, warnings, tc.want, tc.warns)
			}
		})
	}
}

func TestThinkingUsesTheModelsSettings(t *testing.T) {
	t.Parallel()
	adaptive := Dialect{ThinkingRules: ThinkingRules{Thinking: ThinkAdaptive, Efforts: []string{"low", "medium", "high", "max"}}, Force: ForceNamed}
	shown := adaptive
	shown.ShowThinking = true
	always := adaptive
	always.AlwaysThinks = true
	nova := Dialect{ThinkingRules: ThinkingRules{Thinking: ThinkNova, Efforts: []string{"low", "medium", "high"}}}
	oss := Dialect{ThinkingRules: ThinkingRules{Thinking: ThinkEffort, Efforts: []string{"low", "medium", "high"}}}
	tests := map[string]struct {
		effort  llm.Effort
		change  func(*llm.Conversation)
		dialect Dialect
		fields  string
		output  string
		warns   string
	}{
		"a level as a budget":        {llm.Effort{Level: "low"}, nil, able, `{"thinking":{"budget_tokens":4096,"type":"enabled"}}`, "", ""},
		"a budget":                   {llm.Effort{Budget: 5000}, nil, able, `{"thinking":{"budget_tokens":5000,"type":"enabled"}}`, "", ""},
		"a small budget":             {llm.Effort{Budget: 5}, nil, able, `{"thinking":{"budget_tokens":1024,"type":"enabled"}}`, "", ""},
		"default effort":             {llm.Effort{Adaptive: true}, nil, able, `{"thinking":{"budget_tokens":12288,"type":"enabled"}}`, "", ""},
		"within the output limit":    {llm.Effort{Level: "high"}, func(c *llm.Conversation) { c.MaxOutput = 4000 }, able, `{"thinking":{"budget_tokens":3200,"type":"enabled"}}`, "", ""},
		"output limit too small":     {llm.Effort{Level: "high"}, func(c *llm.Conversation) { c.MaxOutput = 1024 }, able, "", "", "more than 1024 output tokens"},
		"disabled":                   {llm.Effort{Level: "none"}, nil, able, "", "", ""},
		"adaptive":                   {llm.Effort{Level: "max"}, nil, adaptive, `{"thinking":{"type":"adaptive"}}`, `{"effort":"max"}`, ""},
		"adaptive, unknown level":    {llm.Effort{Level: "xhigh"}, nil, adaptive, `{"thinking":{"type":"adaptive"}}`, `{"effort":"high"}`, "sent as high"},
		"adaptive, below the lowest": {llm.Effort{Level: "minimal"}, nil, adaptive, `{"thinking":{"type":"adaptive"}}`, `{"effort":"low"}`, "sent as low"},
		"adaptive, a budget":         {llm.Effort{Budget: 9}, nil, adaptive, `{"thinking":{"type":"adaptive"}}`, "", "decides"},
		"adaptive, shown":            {llm.Effort{Adaptive: true}, nil, shown, `{"thinking":{"display":"summarized","type":"adaptive"}}`, "", ""},
		"adaptive, hidden":           {llm.Effort{Adaptive: true, Hide: true}, nil, shown, `{"thinking":{"type":"adaptive"}}`, "", ""},
		"adaptive, disabled":         {llm.Effort{Level: "none"}, nil, adaptive, `{"thinking":{"type":"disabled"}}`, "", ""},
		"cannot be disabled":         {llm.Effort{Level: "none"}, nil, always, "", "", "always thinks"},
		"Nova":                       {llm.Effort{Level: "high"}, nil, nova, `{"reasoningConfig":{"maxReasoningEffort":"high","type":"enabled"}}`, "", ""},
		"Nova within a limit":        {llm.Effort{Level: "high"}, func(c *llm.Conversation) { c.MaxOutput = 9 }, nova, `{"reasoningConfig":{"maxReasoningEffort":"medium","type":"enabled"}}`, "", "max_tokens"},
		"a level of Nova":            {llm.Effort{Budget: 25000}, nil, oss, `{"reasoning_effort":"high"}`, "", ""},
		"no setting":                 {llm.Effort{Level: "high"}, nil, Dialect{Title: "B"}, "", "", "reasoning_effort was dropped"},
		"not with a forced call":     {llm.Effort{Level: "high"}, func(c *llm.Conversation) { c.Tools, c.ToolChoice.Mode = []llm.Tool{{Name: "f"}}, llm.ChoiceMust }, able, "", "", "forced"},
		"not with a prefill":         {llm.Effort{Level: "high"}, func(c *llm.Conversation) { c.Messages = append(c.Messages, assistant(text("So"))) }, able, "", "", "continues its own message"},
		"not without earlier thinking": {llm.Effort{Level: "high"}, func(c *llm.Conversation) {
			c.Tools = []llm.Tool{{Name: "f"}}
			c.Messages = append(c.Messages, assistant(call("1", "f", "")), user(result("1", text("x"))))
		}, able, "", "", "is missing"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := conversationWith(func(c *llm.Conversation) { c.Effort = tc.effort })
			if tc.change != nil {
				tc.change(&conv)
			}
			fields, warnings := render(t, conv, RenderOptions{Dialect: tc.dialect}, "additionalModelRequestFields")
			output, _ := render(t, conv, RenderOptions{Dialect: tc.dialect}, "outputConfig")
			if fields != tc.fields || output != tc.output {
				t.Errorf("fields %s, outputConfig %s; want %s, %s", fields, output, tc.fields, tc.output)
			}
			if warning := strings.Join(warnings, "\n"); (tc.warns == "") != (warning == "") || !strings.Contains(warning, tc.warns) {
				t.Errorf("warning %q, want %q", warning, tc.warns)
			}
		})
	}
}

func TestTiersAndStops(t *testing.T) {
	t.Parallel()
	for tier, want := range map[string]string{"": "", "auto": "", "default": `{"type":"default"}`, "flex": `{"type":"flex"}`, "fast": `{"type":"priority"}`, "scale": ""} {
		if got, _ := render(t, conversationWith(func(c *llm.Conversation) { c.ServiceTier = tier }), RenderOptions{}, "serviceTier"); got != want {
			t.Errorf("serviceTier of %q = %s, want %s", tier, got, want)
		}
	}
	conv := conversationWith(func(c *llm.Conversation) { c.Stop = []string{"END"} })
	if got, _ := render(t, conv, RenderOptions{Dialect: Dialect{ReportsStop: true}}, "additionalModelResponseFieldPaths"); got != `["/stop_sequence"]` {
		t.Errorf("response field paths %s, want /stop_sequence", got)
	}
	nova := conversationWith(func(c *llm.Conversation) { c.Sampling.TopK = "7" })
	if got, _ := render(t, nova, RenderOptions{Dialect: Dialect{TopK: "inferenceConfig.topK"}}, "additionalModelRequestFields"); got != `{"inferenceConfig":{"topK":7}}` {
		t.Errorf("fields %s, want top_k in inferenceConfig", got)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	f, g := llm.Tool{Name: "f"}, llm.Tool{Name: "g"}
	const spec = `{"toolSpec":{"name":"%","inputSchema":{"json":{"type":"object","properties":{}}}}}`
	fSpec, gSpec := strings.ReplaceAll(spec, "%", "f"), strings.ReplaceAll(spec, "%", "g")
	history := []llm.Message{user(text("q")), assistant(call("1", "f", "")), user(result("1", text("x")))}
	anyOnly := able
	anyOnly.Force = ForceAny
	tests := map[string]struct {
		dialect Dialect
		tools   []llm.Tool
		choice  llm.ToolChoice
		history []llm.Message
		want    string
	}{
		"none":                            {able, nil, llm.ToolChoice{}, nil, ""},
		"unset":                           {able, []llm.Tool{f, g}, llm.ToolChoice{}, nil, `{"tools":[` + fSpec + `,` + gSpec + `]}`},
		"auto":                            {able, []llm.Tool{f}, llm.ToolChoice{Mode: llm.ChoiceAuto}, nil, `{"tools":[` + fSpec + `],"toolChoice":{"auto":{}}}`},
		"some tools":                      {able, []llm.Tool{f, g}, llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"g"}}, nil, `{"tools":[` + gSpec + `],"toolChoice":{"auto":{}}}`},
		"must":                            {able, []llm.Tool{f}, llm.ToolChoice{Mode: llm.ChoiceMust}, nil, `{"tools":[` + fSpec + `],"toolChoice":{"any":{}}}`},
		"forced":                          {able, []llm.Tool{f, g}, llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"g"}}, nil, `{"tools":[` + fSpec + `,` + gSpec + `],"toolChoice":{"tool":{"name":"g"}}}`},
		"forced, unnamed":                 {anyOnly, []llm.Tool{f, g}, llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"g"}}, nil, `{"tools":[` + gSpec + `],"toolChoice":{"any":{}}}`},
		"cannot be forced":                {Dialect{}, []llm.Tool{f}, llm.ToolChoice{Mode: llm.ChoiceMust}, nil, `{"tools":[` + fSpec + `]}`},
		"forbidden":                       {able, []llm.Tool{f}, llm.ToolChoice{Mode: llm.ChoiceNone}, nil, ""},
		"forbidden, but called earlier":   {able, []llm.Tool{f}, llm.ToolChoice{Mode: llm.ChoiceNone}, history, `{"tools":[` + fSpec + `]}`},
		"not offered, but called earlier": {able, nil, llm.ToolChoice{}, history, `{"tools":[{"toolSpec":{"name":"f","description":"A tool of earlier turns.","inputSchema":{"json":{"type":"object","properties":{}}}}}]}`},
		"a schema keeps its order":        {able, []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}}, llm.ToolChoice{}, nil, `{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"z":{},"a":{}}}}}}]}`},
		"a schema describes an object":    {able, []llm.Tool{{Name: "f", Schema: json.RawMessage(` {"properties":{"z":{}}}`)}}, llm.ToolChoice{}, nil, `{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object","properties":{"z":{}}}}}}]}`},
		"provider tools only":             {able, []llm.Tool{{Hosted: "web_search"}}, llm.ToolChoice{}, nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := conversationWith(func(c *llm.Conversation) { c.Tools, c.ToolChoice = tc.tools, tc.choice })
			if tc.history != nil {
				conv.Messages = tc.history
			}
			got, _ := render(t, conv, RenderOptions{Dialect: tc.dialect}, "toolConfig")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOutputWayOfSchemas(t *testing.T) {
	t.Parallel()
	closed := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	native := able
	native.Schema = true
	always := native
	always.AlwaysThinks = true
	recursion := func(ref, inner string) string {
		return `{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"$ref":"` + ref + `"}},` +
			`"$defs":{"n":{"type":"object","additionalProperties":false,"required":["c"],"properties":{"c":{"$ref":"` + inner + `"}}}},` +
			`"definitions":{"m/x":{"$ref":"#/$defs/n"},"leaf":{"type":"string"},"l":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}}}`
	}
	for name, tc := range map[string]struct {
		dialect Dialect
		schema  string
		want    outputMode
	}{
		"closed":                     {native, closed, outputByFormat},
		"closed, not native":         {able, closed, outputByTool},
		"closed, no force":           {Dialect{}, closed, outputByInstruction},
		"open":                       {native, `{"type":"object","properties":{"a":{}}}`, outputByTool},
		"open inside":                {native, strings.Replace(closed, `"string"`, `"object"`, 1), outputByTool},
		"a range":                    {native, strings.Replace(closed, `"type":"string"`, `"type":"string","minLength":2`, 1), outputByTool},
		"recursive":                  {native, strings.Replace(closed, `"type":"string"`, `"$ref":"#"`, 1), outputByTool},
		"recursive definition":       {native, recursion("#/$defs/n", "#/$defs/n"), outputByTool},
		"recursive in two steps":     {native, recursion("#/$defs/n", "#/definitions/m~1x"), outputByTool},
		"recursive, encoded":         {native, recursion("#/$defs/n", "#/%24defs/n"), outputByTool},
		"recursive through a member": {native, recursion("#/$defs/n", "#/properties/n"), outputByTool},
		"recursive through a list":   {native, recursion("#/$defs/n", "#/definitions/l/anyOf/0"), outputByTool},
		"a definition":               {native, recursion("#/$defs/n", "#/definitions/leaf"), outputByFormat},
		"a definition, used twice":   {native, recursion("#/definitions/leaf", "#/definitions/leaf"), outputByFormat},
		"another document":           {native, recursion("#/$defs/n", "https://x.test/s"), outputByTool},
		"a reference without target": {native, recursion("#/$defs/n", "#/$defs/x"), outputByTool},
		"a reference to no schema":   {native, recursion("#/$defs/n", "#/$defs"), outputByTool},
		"open, always thinking":      {always, `{"type":"object"}`, outputByInstruction},
		"a list":                     {native, `{"type":"array","items":{"type":"string"}}`, outputByInstruction},
		"nothing":                    {native, ``, outputByInstruction},
		"no JSON":                    {native, `{`, outputByInstruction},
		"choices":                    {native, strings.Replace(closed, `{"type":"string"}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, 1), outputByFormat},
		"too many optional members":  {native, strings.Replace(closed, `"required":["a"]`, `"required":[]`, 1), outputByFormat},
		"a true schema":              {native, strings.Replace(closed, `{"type":"string"}`, `true`, 1), outputByTool},
		"a keyword as a member name": {native, strings.Replace(closed, `"a":`, `"pattern":`, 1), outputByFormat},
	} {
		output := llm.Output{Kind: llm.OutputSchema, Schema: json.RawMessage(tc.schema)}
		got := NewPlan(&llm.Conversation{Output: output}, tc.dialect).mode
		if got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
	many := `{"type":"object","additionalProperties":false,"properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{},"j":{},"k":{}}}`
	if isClosed(jsontext.Value(many)) {
		t.Error("isClosed = true for a schema with very many optional members")
	}
}

// References to references must not take more time than linear, and long chains of references must not exhaust the stack.
func TestManyReferencesAreChecked(t *testing.T) {
	t.Parallel()
	const last = 20_000
	for name, inner := range map[string]string{
		"a chain": `{"$ref":"#/$defs/d%[2]d"}`,
		"a tree":  `{"anyOf":[{"$ref":"#/$defs/d%[2]d"},{"$ref":"#/$defs/d%[2]d"}]}`,
	} {
		for end, want := range map[string]bool{`{"type":"string"}`: true, `{"$ref":"#/$defs/d0"}`: false} {
			var schema strings.Builder
			schema.WriteString(`{"type":"object","additionalProperties":false,"$defs":{`)
			for i := range last {
				fmt.Fprintf(&schema, `"d%d":`+inner+`,`, i, i+1)
			}
			fmt.Fprintf(&schema, `"d%d":%s}}`, last, end)
			if got := isClosed(jsontext.Value(schema.String())); got != want {
				t.Errorf("%s that ends with %s: isClosed = %t, want %t", name, end, got, want)
			}
		}
	}
}

func TestResponseTool(t *testing.T) {
	t.Parallel()
	ship := llm.Output{Kind: llm.OutputSchema, Schema: json.RawMessage(`{"type":"object"}`)}
	for name, tc := range map[string]struct {
		change func(*llm.Conversation)
		want   string
	}{
		"alone":                        {func(*llm.Conversation) {}, `["answer"] {"tool":{"name":"answer"}}`},
		"with other tools":             {func(c *llm.Conversation) { c.Tools = []llm.Tool{{Name: "f"}} }, `["f" "answer"] {"any":{}}`},
		"with a tool of the same name": {func(c *llm.Conversation) { c.Tools = []llm.Tool{{Name: "answer"}} }, `["answer" "answer_"] {"any":{}}`},
		"with a forced call":           {func(c *llm.Conversation) { c.Tools, c.ToolChoice.Mode = []llm.Tool{{Name: "f"}}, llm.ChoiceMust }, `["f"] {"any":{}}`},
		"after calls, without tools": {func(c *llm.Conversation) {
			c.Messages = append(c.Messages, assistant(call("1", "f", "")), user(result("1")))
		}, `["f" "answer"] {"tool":{"name":"answer"}}`},
	} {
		conv := conversationWith(func(c *llm.Conversation) { c.Output = ship })
		tc.change(&conv)
		config, _ := render(t, conv, RenderOptions{Dialect: able}, "toolConfig")
		var read struct {
			Tools      []struct{ ToolSpec struct{ Name string } }
			ToolChoice json.RawMessage
		}
		if err := json.Unmarshal([]byte(config), &read); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range read.Tools {
			names = append(names, `"`+one.ToolSpec.Name+`"`)
		}
		if got := "[" + strings.Join(names, " ") + "] " + string(read.ToolChoice); got != tc.want {
			t.Errorf("%s: got %s, want %s", name, got, tc.want)
		}
	}
}

func TestToolNamesAreMappedBothWays(t *testing.T) {
	t.Parallel()
	names := []string{"weather", "my.tool/weather", "my_tool_weather", "9lives", "ünï", "", strings.Repeat("x", 80), strings.Repeat("x", 81), "a b", "a-b"}
	var conv llm.Conversation
	for _, n := range names {
		conv.Tools = append(conv.Tools, llm.Tool{Name: n})
	}
	p := NewPlan(&conv, able)
	seen := map[string]bool{}
	for _, n := range names {
		sent := p.providerName(n)
		if !fits(sent, maxToolName) || !isLetter(sent[0]) || seen[sent] {
			t.Errorf("providerName(%q) = %q, want a valid unique name", n, sent)
		}
		seen[sent] = true
		if back := p.clientTools[sent].name; n != "" && back != n {
			t.Errorf("the name sent for %q is mapped back to %q", n, back)
		}
	}
	if p.providerName("weather") != "weather" {
		t.Errorf("providerName(weather) = %q, want it unchanged", p.providerName("weather"))
	}
}

func TestParallelCallsAreDisabledInTheModelsField(t *testing.T) {
	t.Parallel()
	single := able
	single.OneCall = true
	schema := json.RawMessage(`{"type":"object"}`)
	for name, tc := range map[string]struct {
		dialect        Dialect
		change         func(*llm.Conversation)
		fields, choice string
		warned         bool
	}{
		"no choice": {single, nil, `{"tool_choice":{"disable_parallel_tool_use":true,"type":"auto"}}`, "", false},
		"auto":      {single, func(c *llm.Conversation) { c.ToolChoice.Mode = llm.ChoiceAuto }, `{"tool_choice":{"disable_parallel_tool_use":true,"type":"auto"}}`, "", false},
		"required":  {single, func(c *llm.Conversation) { c.ToolChoice.Mode = llm.ChoiceMust }, `{"tool_choice":{"disable_parallel_tool_use":true,"type":"any"}}`, "", false},
		"a named tool": {single, func(c *llm.Conversation) {
			c.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"f"}}
		}, `{"tool_choice":{"disable_parallel_tool_use":true,"name":"f","type":"tool"}}`, "", false},
		"a tool that carries the response": {single, func(c *llm.Conversation) {
			c.Output = llm.Output{Kind: llm.OutputSchema, Schema: schema}
		}, `{"tool_choice":{"disable_parallel_tool_use":true,"type":"any"}}`, "", false},
		"no calls":      {single, func(c *llm.Conversation) { c.ToolChoice.Mode = llm.ChoiceNone }, "", "", false},
		"no tools":      {single, func(c *llm.Conversation) { c.Tools = nil }, "", "", false},
		"parallel":      {single, func(c *llm.Conversation) { *c.ParallelTools, c.ToolChoice.Mode = true, llm.ChoiceMust }, "", `{"any":{}}`, false},
		"another model": {able, func(c *llm.Conversation) { c.ToolChoice.Mode = llm.ChoiceMust }, "", `{"any":{}}`, true},
	} {
		conv := conversationWith(func(c *llm.Conversation) { c.Tools, c.ParallelTools = []llm.Tool{{Name: "f"}}, new(bool) })
		if tc.change != nil {
			tc.change(&conv)
		}
		fields, warnings := render(t, conv, RenderOptions{Dialect: tc.dialect}, "additionalModelRequestFields")
		tools, _ := render(t, conv, RenderOptions{Dialect: tc.dialect}, "toolConfig")
		var config struct{ ToolChoice json.RawMessage }
		if tools != "" {
			if err := json.Unmarshal([]byte(tools), &config); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{tc.fields, tc.choice}, []string{fields, string(config.ToolChoice)}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if warned := strings.Contains(strings.Join(warnings, " "), "parallel_tool_calls"); warned != tc.warned {
			t.Errorf("%s: warnings %q, want one for parallel_tool_calls = %t", name, warnings, tc.warned)
		}
	}
}
