package workspaces

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/spelling"
)

// RedactionView is a set of redaction rules.
type RedactionView struct {
	Builtin []string              `json:"builtin" maxItems:"50" doc:"Names of built-in rules, as listed by get-settings."`
	Custom  []RedactionCustomRule `json:"custom" maxItems:"100" doc:"Custom rules, at most 20."`
}

// RedactionCustomRule is a rule of the workspace.
type RedactionCustomRule struct {
	Name    string `json:"name" maxLength:"200" doc:"Name used in the replacement: [redacted: name]. Letters, digits, spaces, dashes and underscores."`
	Pattern string `json:"pattern" maxLength:"2000" doc:"Text to redact, as a regular expression in RE2 syntax. At most 300 bytes."`
}

// RedactionResult is a text as it would be stored after redaction.
type RedactionResult struct {
	Text   string         `json:"text"`
	Counts map[string]int `json:"counts" doc:"Number of replacements per rule. Rules without matches are omitted."`
}

func (a *handlers) registerRedaction() {
	adminapi.Register(a.Server, account.ManageWorkspace, huma.Operation{
		OperationID: "test-redaction", Method: http.MethodPost, Path: "/workspace/redaction/test", Tags: []string{"workspaces"},
		Summary:     "Test redaction rules",
		Description: "Returns the text as it would be stored. Stores neither the text nor the rules.",
	}, func(ctx context.Context, c *adminapi.Call, in *testRedactionInput) (*adminapi.Output[RedactionResult], error) {
		w, err := a.Workspaces.Workspace(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		rules := redact.Rules{Builtin: a.DefaultRedaction()}
		if w.Redaction != nil {
			rules = *w.Redaction
		}
		if in.Body.Rules != nil {
			rules = *in.Body.Rules.rules()
			if err := validateRedaction("rules", &rules); err != nil {
				return nil, err
			}
		}
		redactor, err := redact.New(rules)
		if err != nil {
			return nil, err
		}
		end := a.Now().Add(redactionTestTime)
		pass := redactor.Begin(func() bool { return a.Now().After(end) })
		text := pass.Text(in.Body.Text)
		if pass.Stopped() {
			return nil, adminapi.Invalid("body", "rules", "take too long to apply to this text; simplify the patterns")
		}
		return adminapi.Respond(RedactionResult{Text: text, Counts: pass.Counts()}), nil
	})
}

type testRedactionInput struct {
	Body struct {
		Text  string         `json:"text" maxLength:"20000"`
		Rules *RedactionView `json:"rules,omitempty" doc:"Rules to test. Defaults to the active rules."`
	}
}

// redactionTestTime is the time limit for a test.
const redactionTestTime = 500 * time.Millisecond

// validateRedaction returns all problems of the rules in one error.
func validateRedaction(param string, rules *redact.Rules) error {
	if rules == nil {
		return nil
	}
	var problems []adminapi.Problem
	for _, p := range rules.Check() {
		problem := adminapi.Problem{In: "body", Param: param + "." + p.Param, Message: p.Message}
		if p.Unknown != "" {
			problem.Suggestion = spelling.Closest(p.Unknown, redact.Names())
		}
		problems = append(problems, problem)
	}
	if len(problems) == 0 {
		return nil
	}
	return adminapi.InvalidAll(problems)
}

func (v *RedactionView) rules() *redact.Rules {
	if v == nil {
		return nil
	}
	rules := &redact.Rules{Builtin: append([]string{}, v.Builtin...), Custom: []redact.Custom{}}
	for _, c := range v.Custom {
		rules.Custom = append(rules.Custom, redact.Custom(c))
	}
	return rules
}

func redactionView(rules *redact.Rules) *RedactionView {
	if rules == nil {
		return nil
	}
	v := &RedactionView{Builtin: append([]string{}, rules.Builtin...), Custom: []RedactionCustomRule{}}
	for _, c := range rules.Custom {
		v.Custom = append(v.Custom, RedactionCustomRule(c))
	}
	return v
}
