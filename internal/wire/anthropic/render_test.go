package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

var schema = json.RawMessage(`{"type":"object","properties":{"zulu":{"type":"string"},"alpha":{"type":"number"}},"required":["zulu"],"additionalProperties":false}`)

func text(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Parts: parts} }

func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func result(id, s string) llm.Part {
	return llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Parts: []llm.Part{text(s)}}}
}

func thinkingPart(signer string) llm.Part {
	return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "sig", Provider: signer}}
}

// rendered encodes a conversation and returns the values at the paths and the warnings.
func rendered(t *testing.T, conv llm.Conversation, o RenderOptions, paths ...string) ([]string, []string) {
	t.Helper()
	o.Model = "m"
	body, warnings, err := Render(t.Context(), &conv, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range paths {
		got = append(got, rawjson.Get(body, path).Raw)
	}
	return got, warnings
}

func TestTurnsMatchTheProvidersRules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		messages []llm.Message
		want     string // value of messages
		warned   int
	}{
		"results come first": {
			[]llm.Message{user(text("a")), assistant(call("1", "t", "{}"), call("2", "t", "")), user(text("b"), result("2", "r2")), user(result("1", "r1"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{}},{"type":"tool_use","id":"2","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"r2"},{"type":"tool_result","tool_use_id":"1","content":"r1"},{"type":"text","text":"b"}]}]`, 0,
		},
		"thinking comes first, and only signed thinking": {
			[]llm.Message{user(text("a")), assistant(text("b"), thinkingPart("p"), thinkingPart("q"), call("1", "t", "{}")), user(result("1", "r"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]`, 0,
		},
		"thinking comes first when other thinking before it is dropped": {
			[]llm.Message{user(text("a")), assistant(thinkingPart("q"), text("b"), thinkingPart("p"), call("1", "t", "{}"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"b"},{"type":"tool_use","id":"1","name":"t","input":{}}]}]`, 0,
		},
		"thinking comes first when turns are joined": {
			[]llm.Message{user(text("a")), assistant(text("b")), user(text(" ")), assistant(thinkingPart("p"), text("c"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}]`, 0,
		},
		"empty thinking is dropped": {
			[]llm.Message{user(text("a")), assistant(llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Provider: "p"}}, text("b"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]}]`, 0,
		},
		"thinking between calls stays there": {
			[]llm.Message{user(text("a")), assistant(thinkingPart("p"), call("1", "t", "{}"), thinkingPart("p"), call("2", "t", "{}")), user(result("1", "r"), result("2", "r"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"1","name":"t","input":{}},{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"2","name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"tool_result","tool_use_id":"2","content":"r"}]}]`, 0,
		},
		"blank text is dropped, and adjacent turns are joined": {
			[]llm.Message{user(text("a")), assistant(text(" \n")), user(text("b"))},
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, 0,
		},
		"the assistant is first": {
			[]llm.Message{assistant(text("a")), user(text("b"))},
			`[{"role":"user","content":[{"type":"text","text":"(The conversation goes on.)"}]},{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b"}]}]`, 1,
		},
		"a prefill": {
			[]llm.Message{user(text("a")), assistant(text("b \n"))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"b"}]}]`, 1,
		},
		"only instructions": {
			[]llm.Message{{Role: llm.System, Parts: []llm.Part{text("a")}}},
			`[{"role":"user","content":[{"type":"text","text":"a"}]}]`, 1,
		},
		"arguments that are not an object": {
			[]llm.Message{user(text("a")), assistant(call("1", "t", `[1]`), call("2", "t", `{"a":`)), user(result("1", ""), result("2", ""))},
			`[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"t","input":{"arguments":"[1]"}},{"type":"tool_use","id":"2","name":"t","input":{"arguments":"{\"a\":"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":""},{"type":"tool_result","tool_use_id":"2","content":""}]}]`, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warnings := rendered(t, llm.Conversation{Messages: tc.messages}, RenderOptions{Signer: "p"}, "messages")
			if diff := cmp.Diff(tc.want, got[0]); diff != "" {
				t.Error(diff)
			}
			if len(warnings) != tc.warned {
				t.Errorf("warnings %q, want %d", warnings, tc.warned)
			}
		})
	}
}

func TestHistoryWithCallsNeedsTools(t *testing.T) {
	t.Parallel()
	conv := llm.Conversation{Messages: []llm.Message{user(text("a")), assistant(call("1", "t", "{}"), call("2", "t", "{}")), user(result("1", "r"), result("2", "r"))}}
	got, _ := rendered(t, conv, RenderOptions{}, "tools", "tool_choice")
	if diff := cmp.Diff([]string{`[{"name":"t","input_schema":{"type":"object","properties":{}}}]`, `{"type":"none"}`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	budget := Traits{Thinking: BudgetThinking}
	adaptive := Traits{Thinking: AdaptiveThinking, Efforts: []string{"low", "medium", "high"}}
	byDefault := Traits{Thinking: AdaptiveThinking, Efforts: adaptive.Efforts, ThinksByDefault: true, Off: "disabled"}
	always := Traits{Thinking: AdaptiveThinking, Efforts: adaptive.Efforts, ThinksByDefault: true}
	tool := []llm.Tool{{Name: "t"}}
	must := llm.ToolChoice{Mode: llm.ChoiceMust}
	loop := func(signer string) []llm.Message {
		return []llm.Message{user(text("a")), assistant(thinkingPart(signer), call("1", "t", "{}")), user(result("1", "r"))}
	}
	for name, tc := range map[string]struct {
		traits   Traits
		conv     llm.Conversation
		thinking string
		config   string
		warned   int
	}{
		"not requested":                      {budget, llm.Conversation{}, "", "", 0},
		"a level as a budget":                {budget, llm.Conversation{Effort: llm.Effort{Level: "low"}}, `{"type":"enabled","budget_tokens":4096}`, "", 0},
		"a budget below the limit":           {budget, llm.Conversation{Effort: llm.Effort{Level: "high"}, MaxOutput: 2000}, `{"type":"enabled","budget_tokens":1600}`, "", 0},
		"limit too small":                    {budget, llm.Conversation{Effort: llm.Effort{Level: "high"}, MaxOutput: 1000}, "", "", 1},
		"a budget above the limit":           {budget, llm.Conversation{Effort: llm.Effort{Budget: 9000}, MaxOutput: 5000}, `{"type":"enabled","budget_tokens":4999}`, "", 1},
		"adaptive, by budget":                {budget, llm.Conversation{Effort: llm.Effort{Adaptive: true}}, `{"type":"enabled","budget_tokens":12288}`, "", 0},
		"an unsupported model":               {Traits{}, llm.Conversation{Effort: llm.Effort{Level: "low"}}, "", "", 1},
		"a forced call takes precedence":     {budget, llm.Conversation{Effort: llm.Effort{Level: "low"}, Tools: tool, ToolChoice: must}, "", "", 1},
		"a prefill takes precedence":         {budget, llm.Conversation{Effort: llm.Effort{Level: "low"}, Messages: []llm.Message{user(text("a")), assistant(text("b"))}}, "", "", 1},
		"a tool loop with its thinking":      {budget, llm.Conversation{Effort: llm.Effort{Level: "low"}, Messages: loop("p"), Tools: tool}, `{"type":"enabled","budget_tokens":4096}`, "", 0},
		"a tool loop without":                {budget, llm.Conversation{Effort: llm.Effort{Level: "low"}, Messages: loop("q"), Tools: tool}, "", "", 1},
		"adaptive needs no earlier thinking": {adaptive, llm.Conversation{Effort: llm.Effort{Level: "low"}, Messages: loop("q"), Tools: tool}, `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`, 0},
		"the nearest level":                  {adaptive, llm.Conversation{Effort: llm.Effort{Level: "max", Hide: true}}, `{"type":"adaptive","display":"omitted"}`, `{"effort":"high"}`, 1},
		"an unknown level":                   {adaptive, llm.Conversation{Effort: llm.Effort{Level: "very"}}, `{"type":"adaptive","display":"summarized"}`, `{"effort":"low"}`, 1},
		"a budget for an adaptive model":     {adaptive, llm.Conversation{Effort: llm.Effort{Budget: 2000}}, `{"type":"adaptive","display":"summarized"}`, "", 1},
		"adaptive and forced":                {adaptive, llm.Conversation{Effort: llm.Effort{Level: "low"}, Tools: tool, ToolChoice: must}, "", "", 1},
		"disabled by default":                {adaptive, llm.Conversation{Effort: llm.Effort{Level: "none"}}, "", "", 0},
		"enabled by default":                 {byDefault, llm.Conversation{Effort: llm.Effort{Level: "none"}}, `{"type":"disabled"}`, "", 0},
		"enabled by default, and forced":     {byDefault, llm.Conversation{Tools: tool, ToolChoice: must}, `{"type":"disabled"}`, "", 0},
		"cannot be disabled":                 {always, llm.Conversation{Effort: llm.Effort{Level: "none"}}, "", `{"effort":"low"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := tc.conv
			if conv.Messages == nil {
				conv.Messages = []llm.Message{user(text("x"))}
			}
			got, warnings := rendered(t, conv, RenderOptions{Signer: "p", ModelMax: 64000, Traits: tc.traits}, "thinking", "output_config")
			if diff := cmp.Diff([]string{tc.thinking, tc.config}, got); diff != "" {
				t.Error(diff)
			}
			if len(warnings) != tc.warned {
				t.Errorf("warnings %q, want %d", warnings, tc.warned)
			}
		})
	}
}

func TestSampling(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		traits Traits
		effort string
		given  llm.Sampling
		want   []string
		warned int
	}{
		"unchanged":                     {Traits{}, "", llm.Sampling{Temperature: "0.70", TopP: "0.5", TopK: "3"}, []string{"0.70", "0.5", "3"}, 0},
		"temperature above the maximum": {Traits{}, "", llm.Sampling{Temperature: "1.5"}, []string{"1", "", ""}, 1},
		"temperature without top_p":     {Traits{OneSampler: true}, "", llm.Sampling{Temperature: "0.7", TopP: "1"}, []string{"0.7", "", ""}, 0},
		"fixed":                         {Traits{FixedSampling: true}, "", llm.Sampling{Temperature: "0.7", TopP: "0.5", TopK: "3"}, []string{"", "", ""}, 3},
		"fixed, default values":         {Traits{FixedSampling: true}, "", llm.Sampling{Temperature: "1.0", TopP: "1"}, []string{"1.0", "1", ""}, 0},
		"thinking":                      {Traits{Thinking: BudgetThinking}, "low", llm.Sampling{Temperature: "0.7", TopP: "0.96", TopK: "3"}, []string{"", "0.96", ""}, 2},
		"not a number":                  {Traits{}, "", llm.Sampling{Temperature: "NaN", TopP: "0x1"}, []string{"", "", ""}, 0},
		"unsupported fields":            {Traits{}, "", llm.Sampling{Seed: "1", FrequencyPenalty: "1", PresencePenalty: "0", Logprobs: true}, []string{"", "", ""}, 3},
	} {
		conv := llm.Conversation{Messages: []llm.Message{user(text("x"))}, Effort: llm.Effort{Level: tc.effort}, Sampling: tc.given}
		got, warnings := rendered(t, conv, RenderOptions{ModelMax: 64000, Traits: tc.traits}, "temperature", "top_p", "top_k")
		if diff := cmp.Diff(tc.want, got); diff != "" || len(warnings) != tc.warned {
			t.Errorf("%s: warnings %q, want %d, request (-want +got):\n%s", name, warnings, tc.warned, diff)
		}
	}
}

func TestToolsAndChoices(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	tools := []llm.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	names := "tools.#.name"
	for name, tc := range map[string]struct {
		conv   llm.Conversation
		names  string
		choice string
		warned int
	}{
		"no choice":               {llm.Conversation{Tools: tools}, `["a","b","c"]`, "", 0},
		"one at a time":           {llm.Conversation{Tools: tools, ParallelTools: &no}, `["a","b","c"]`, `{"type":"auto","disable_parallel_tool_use":true}`, 0},
		"several at a time":       {llm.Conversation{Tools: tools, ParallelTools: &yes, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}}, `["a","b","c"]`, `{"type":"any","disable_parallel_tool_use":false}`, 0},
		"one required tool":       {llm.Conversation{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"b"}}}, `["a","b","c"]`, `{"type":"tool","name":"b"}`, 0},
		"two required tools":      {llm.Conversation{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"a", "c"}}}, `["a","c"]`, `{"type":"any"}`, 0},
		"some allowed":            {llm.Conversation{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"c"}}}, `["c"]`, `{"type":"auto"}`, 0},
		"none":                    {llm.Conversation{Tools: tools, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}}, `["a","b","c"]`, `{"type":"none"}`, 0},
		"another provider's tool": {llm.Conversation{Tools: append([]llm.Tool{{Hosted: "web_search_preview", Raw: []byte(`{}`)}}, tools...)}, `["a","b","c"]`, "", 1},
		"the provider's tool":     {llm.Conversation{Tools: []llm.Tool{{Hosted: "web_search_20250305", Raw: []byte(`{"type":"web_search_20250305","name":"w"}`)}}}, `["w"]`, "", 0},
		"strict":                  {llm.Conversation{Tools: []llm.Tool{{Name: "a", Strict: &yes}}}, `["a"]`, "", 1},
		"no tools":                {llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto}}, ``, "", 0},
	} {
		tc.conv.Messages = []llm.Message{user(text("x"))}
		got, warnings := rendered(t, tc.conv, RenderOptions{}, names, "tool_choice")
		if diff := cmp.Diff([]string{tc.names, tc.choice}, got); diff != "" || len(warnings) != tc.warned {
			t.Errorf("%s: warnings %q, want %d, request (-want +got):\n%s", name, warnings, tc.warned, diff)
		}
	}
}

func TestResponseSchema(t *testing.T) {
	t.Parallel()
	shape := llm.Output{Kind: llm.OutputSchema, Schema: schema}
	list := llm.Output{Kind: llm.OutputSchema, Schema: []byte(`{"type":"array","items":{}}`)}
	own := []llm.Tool{{Name: "answer_in_json"}}
	paths := []string{"tools.#.name", "tool_choice", "system.#.text", "output_config.format.type"}
	for name, tc := range map[string]struct {
		conv   llm.Conversation
		traits Traits
		want   []string
		warned int
	}{
		"natively":                           {llm.Conversation{Output: shape}, Traits{Schemas: true}, []string{"", "", "", `"json_schema"`}, 0},
		"as a forced tool":                   {llm.Conversation{Output: shape}, Traits{}, []string{`["answer_in_json"]`, `{"type":"tool","name":"answer_in_json"}`, "", ""}, 0},
		"with the client's tools":            {llm.Conversation{Output: shape, Tools: own}, Traits{}, []string{`["answer_in_json","answer_in_json_"]`, `{"type":"any"}`, "", ""}, 0},
		"with tools that must not be called": {llm.Conversation{Output: shape, Tools: own, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}}, Traits{}, []string{`["answer_in_json","answer_in_json_"]`, `{"type":"tool","name":"answer_in_json_"}`, "", ""}, 0},
		"with a required tool":               {llm.Conversation{Output: shape, Tools: own, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}}, Traits{}, []string{`["answer_in_json"]`, `{"type":"any"}`, "", ""}, 0},
		"as an instruction":                  {llm.Conversation{Output: list}, Traits{}, []string{"", "", `["` + strings.ReplaceAll(askForSchema, "\n", `\n`) + `{\"type\":\"array\",\"items\":{}}"]`, ""}, 1},
		"any object":                         {llm.Conversation{Output: llm.Output{Kind: llm.OutputJSON}}, Traits{}, []string{"", "", `["` + askForJSON + `"]`, ""}, 0},
	} {
		tc.conv.Messages = []llm.Message{user(text("x"))}
		got, warnings := rendered(t, tc.conv, RenderOptions{Traits: tc.traits}, paths...)
		if diff := cmp.Diff(tc.want, got); diff != "" || len(warnings) != tc.warned {
			t.Errorf("%s: warnings %q, want %d, request (-want +got):\n%s", name, warnings, tc.warned, diff)
		}
	}
}

func TestAtMostFourCacheMarks(t *testing.T) {
	t.Parallel()
	mark := func(s string) llm.Part {
		return llm.Part{Kind: llm.TextPart, Text: s, Cache: &llm.CacheMark{TTL: "1h"}}
	}
	conv := llm.Conversation{
		Tools:    []llm.Tool{{Name: "t", Cache: &llm.CacheMark{}}},
		Messages: []llm.Message{{Role: llm.System, Parts: []llm.Part{mark("s")}}, user(mark("a"), mark("b"), mark("c"), mark("d"))},
	}
	got, warnings := rendered(t, conv, RenderOptions{}, "tools.0.cache_control", "system.0.cache_control", "messages.0.content.#.cache_control.ttl")
	if diff := cmp.Diff([]string{"", "", `["1h","1h","1h","1h"]`}, got); diff != "" || len(warnings) != 1 {
		t.Errorf("warnings %q, want one, request (-want +got):\n%s", warnings, diff)
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked, bound, most, want int64
		warned                   int
	}{
		"the client's":           {100, 50, 1000, 100, 0},
		"the budget's":           {0, 50, 1000, 50, 0},
		"the model's":            {0, 0, 1000, 1000, 0},
		"above the model's":      {5000, 0, 1000, 1000, 1},
		"unknown":                {0, 0, 0, 4096, 0},
		"unknown, with a policy": {5000, 0, 0, 5000, 0},
		"a budget too large":     {0, 5000, 1000, 1000, 1},
	} {
		conv := llm.Conversation{Messages: []llm.Message{user(text("x"))}, MaxOutput: tc.asked}
		body, warnings, err := Render(t.Context(), &conv, RenderOptions{MaxOutput: tc.bound, ModelMax: tc.most})
		if got := rawjson.Get(body, "max_tokens").Int(); err != nil || got != tc.want || len(warnings) != tc.warned {
			t.Errorf("%s: max_tokens = %d, warnings %q, %v; want %d and %d warnings", name, got, warnings, err, tc.want, tc.warned)
		}
	}
}

func TestUnsupportedContent(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]llm.Part{
		"sound":                     {Kind: llm.AudioPart, Media: &llm.Media{Data: "x"}},
		"an image stored elsewhere": {Kind: llm.ImagePart, Media: &llm.Media{FileID: "file-1"}},
		"a file stored elsewhere":   {Kind: llm.FilePart, Media: &llm.Media{FileID: "file-1"}},
		"a file of another kind":    {Kind: llm.FilePart, Media: &llm.Media{Data: "AAAA", Type: "application/zip"}},
		"empty":                     text(" "),
	} {
		_, _, err := Render(t.Context(), &llm.Conversation{Messages: []llm.Message{user(part)}}, RenderOptions{})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Untranslatable || e.Param != "messages" {
			t.Errorf("%s: %v, want Untranslatable for messages", name, err)
		}
	}
	_, warnings := rendered(t, llm.Conversation{
		Messages: []llm.Message{{Role: llm.User, Name: "bo", Parts: []llm.Part{text("x")}}}, Choices: 2, Verbosity: "low", ServiceTier: "flex",
		Dropped: []string{"logit_bias", "evil\nname"}, Stop: []string{"\n"}, EndUser: strings.Repeat("u", 300),
	}, RenderOptions{})
	if len(warnings) != 7 || strings.Contains(strings.Join(warnings, ""), "\n") {
		t.Errorf("%d warnings, want 7 of one line: %q", len(warnings), warnings)
	}
}

func TestMediaSources(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		part llm.Part
		want string
	}{
		"a data URL":            {llm.Part{Kind: llm.ImagePart, Media: &llm.Media{URL: "data:image/webp;base64,UklGRg=="}}, `{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"UklGRg=="}}`},
		"a type from the bytes": {llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Data: "/9j/4AAQ"}}, `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"/9j/4AAQ"}}`},
		"a misspelled type":     {llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Data: "x", Type: "image/jpg"}}, `{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"x"}}`},
		"an image as a file":    {llm.Part{Kind: llm.FilePart, Media: &llm.Media{Data: "x", Type: "image/png"}}, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"x"}}`},
		"a PDF of unknown type": {llm.Part{Kind: llm.FilePart, Media: &llm.Media{Data: "JVBERi0x"}}, `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0x"}}`},
		"a text":                {llm.Part{Kind: llm.FilePart, Media: &llm.Media{Data: "YQ==", Type: "text/markdown", Name: "a.md"}}, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"a"},"title":"a.md"}`},
	} {
		got, _ := rendered(t, llm.Conversation{Messages: []llm.Message{user(tc.part)}}, RenderOptions{}, "messages.0.content.0")
		if diff := cmp.Diff(tc.want, got[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWebSearchIsRequestedInTheProvidersForm(t *testing.T) {
	t.Parallel()
	search := func(s llm.Search) llm.Tool { return llm.Tool{Hosted: "web_search", Search: &s} }
	for name, c := range map[string]struct {
		tools  []llm.Tool
		search bool
		want   string
		warned int
	}{
		"plain": {[]llm.Tool{search(llm.Search{})}, true, `[{"type":"web_search_20250305","name":"web_search"}]`, 0},
		"all options": {
			[]llm.Tool{search(llm.Search{Allowed: []string{"a.example"}, MaxUses: 2, Place: llm.Place{Country: "DE"}})},
			true,
			`[{"type":"web_search_20250305","name":"web_search","max_uses":2,"allowed_domains":["a.example"],"user_location":{"type":"approximate","country":"DE"}}]`, 0,
		},
		"both lists and a size": {
			[]llm.Tool{search(llm.Search{Allowed: []string{"a.example"}, Blocked: []string{"b.example"}, ContextSize: "low"})},
			true,
			`[{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example"]}]`, 2,
		},
		"unsupported":  {[]llm.Tool{search(llm.Search{})}, false, ``, 1},
		"a taken name": {[]llm.Tool{search(llm.Search{}), {Name: "web_search"}}, true, `[{"name":"web_search","input_schema":{"type":"object","properties":{}}}]`, 1},
	} {
		got, warnings := rendered(t, llm.Conversation{Messages: []llm.Message{user(text("x"))}, Tools: c.tools}, RenderOptions{Search: c.search}, "tools")
		if got[0] != c.want || len(warnings) != c.warned {
			t.Errorf("%s: tools %s, warnings %q; want %s and %d warnings", name, got[0], warnings, c.want, c.warned)
		}
	}
}
