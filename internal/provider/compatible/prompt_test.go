package compatible

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

var prompts = Row{Name: "v", Title: "Vee", BaseURL: "https://v.test", ChatPath: "/chat", CompletePath: "/complete", ModeratePath: "/moderate"}

func TestPromptsKeepMaxTokens(t *testing.T) {
	t.Parallel()
	model := &catalog.Model{Name: "m", Op: llm.Complete, CompletionTokens: true}
	r, members, warnings := send(t, prompts, provider.Settings{}, model, `{"model":"m","prompt":"x","max_tokens":5,"stream":true,"models":["y"]}`)
	if string(members["max_tokens"]) != "5" || members["max_completion_tokens"] != nil || members["models"] != nil || len(warnings) > 0 {
		t.Errorf("sent %s, warnings %v", members, warnings)
	}
	if r.URL.String() != "https://v.test/complete" || r.Header.Get("Accept") != provider.AcceptEvents || string(members["stream_options"]) != `{"include_usage":true}` {
		t.Errorf("URL %s, headers %v, stream_options %s", r.URL, r.Header, members["stream_options"])
	}
}

func TestPromptsAreLimitedByTheBudget(t *testing.T) {
	t.Parallel()
	target := &provider.Target{Model: &catalog.Model{Name: "m", Op: llm.Chat, CompletionTokens: true}, Upstream: "up"}
	call := &provider.Call{Target: target, Request: request(t, llm.Complete, `{"model":"m","prompt":"x","max_tokens":null}`), MaxOutput: 300}
	edit := prompts.promptEdit(call)
	if len(edit.Set) != 1 || edit.Set[0].Name != "max_tokens" || string(edit.Set[0].Value) != "300" {
		t.Errorf("edit = %+v, want max_tokens 300", edit)
	}
	if diff := cmp.Diff([]string{"max_tokens set to 300: a budget or a policy allows no more"}, call.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestFixedSamplingIsDroppedFromPrompts(t *testing.T) {
	t.Parallel()
	model := &catalog.Model{Name: "m", Op: llm.Complete, FixedSampling: true}
	_, members, warnings := send(t, prompts, provider.Settings{}, model, `{"model":"m","prompt":"x","temperature":0,"logprobs":1}`)
	if members["temperature"] != nil || members["logprobs"] != nil || len(warnings) != 2 {
		t.Errorf("sent %s, warnings %v", members, warnings)
	}
}

func TestMissingModelIsSent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"input":"x"}`, `{"model":null,"input":"x"}`, `{"input":"x","model":"m"}`} {
		r, members, _ := send(t, prompts, provider.Settings{}, &catalog.Model{Name: "m", Op: llm.Moderate}, body)
		if string(members["model"]) != `"up"` || string(members["input"]) != `"x"` || r.URL.Path != "/moderate" {
			t.Errorf("%s: sent %s to %s, want the model of the target", body, members, r.URL)
		}
	}
}

func TestLegacyCompletionTargets(t *testing.T) {
	t.Parallel()
	settings := provider.Settings{Targets: []*provider.Target{
		{Model: &catalog.Model{Name: "chatty", Op: llm.Chat}},
		{Model: &catalog.Model{Name: "embed", Op: llm.Embed}},
		{Model: &catalog.Model{Name: "instruct", Op: llm.Complete}},
	}}
	apart, none := prompts, prompts
	apart.PromptsApart, none.CompletePath = true, ""
	for name, tc := range map[string]struct {
		row  Row
		want []bool
	}{
		"all its chat models":   {prompts, []bool{true, false, true}},
		"separate models":       {apart, []bool{false, false, true}},
		"none, without the API": {none, []bool{false, false, true}},
	} {
		p := New(tc.row, settings)
		if (p.Exchange(llm.Complete) != nil) != (tc.row.CompletePath != "") {
			t.Errorf("%s: completions offered = %t with path %q", name, p.Exchange(llm.Complete) != nil, tc.row.CompletePath)
		}
		for i, target := range p.Targets {
			if target.Serves(llm.Complete) != tc.want[i] {
				t.Errorf("%s: %s serves legacy completions = %t, want %t", name, target.Model.Name, !tc.want[i], tc.want[i])
			}
		}
	}
	if settings.Targets[0].Completes {
		t.Error("New changed the given target")
	}
}
