package policies

import (
	"context"
	"fmt"
	"strings"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
)

// PolicyProblem is a problem in a policy document.
type PolicyProblem struct {
	Line    int    `json:"line" doc:"Line, starting at 1."`
	Column  int    `json:"column" doc:"Column in characters, starting at 1."`
	Width   int    `json:"width" doc:"Number of characters to highlight, at least 1."`
	Path    string `json:"path" doc:"Path in the document, such as policies[2].when."`
	Policy  string `json:"policy" doc:"Name of the policy. Empty if the problem is not in a policy."`
	Code    string `json:"code" doc:"Problem code, listed in the documentation." example:"E2031"`
	Message string `json:"message" doc:"Message, one line without a full stop."`
	Hint    string `json:"hint" doc:"Suggested correction. Can be empty."`
}

func policyProblems(problems []policy.Problem) []PolicyProblem {
	list := make([]PolicyProblem, len(problems))
	for i, p := range problems {
		list[i] = PolicyProblem{
			Line: p.Line, Column: p.Column, Width: p.Width, Path: p.Path, Policy: p.Policy,
			Code: string(p.Code), Message: p.Message, Hint: p.Hint,
		}
	}
	return list
}

// invalidPolicies returns the error for an invalid policy document.
func invalidPolicies(param string, problems []policy.Problem) error {
	list := make([]adminapi.Problem, 0, len(problems))
	for _, p := range problems[:min(len(problems), adminapi.MaxProblems)] {
		list = append(list, adminapi.Problem{
			In: "body", Param: param, Message: p.Message, Line: p.Line, Column: p.Column, Width: p.Width,
			Path: p.Path, Hint: p.Hint, Code: string(p.Code),
		})
	}
	e := llm.Errorf(llm.InvalidRequest, "Invalid policies: %s", problems[0])
	e.Param = param
	return e.With("problems", list)
}

// PolicyCheck is the result of validating policies.
type PolicyCheck struct {
	OK       bool            `json:"ok" doc:"Whether the policies can be saved."`
	Problems []PolicyProblem `json:"problems" doc:"All problems in document order."`
	Policies []policy.Policy `json:"policies" doc:"Parsed policies. Empty if there are problems."`
	Source   string          `json:"source" doc:"Policies as formatted YAML. If there are problems, the document that line and column refer to."`
	Hash     string          `json:"hash" doc:"Content hash. Equal to the hash of the active version if nothing changed. Empty if there are problems or no policies."`
	Diff     []DiffLine      `json:"diff" doc:"Diff to the newest version, line by line."`
}

type checkPoliciesInput struct {
	Body struct {
		Source   *string         `json:"source,omitempty" maxLength:"65536" doc:"Policies as YAML."`
		Policies []policy.Policy `json:"policies,omitempty" maxItems:"200" doc:"Policies as objects instead of YAML."`
	}
}

func (a *handlers) checkPolicies(ctx context.Context, c *adminapi.Call, in *checkPoliciesInput) (*adminapi.Output[PolicyCheck], error) {
	if (in.Body.Source == nil) == (in.Body.Policies == nil) {
		return nil, adminapi.Invalid("body", "source", "set either source or policies")
	}
	var source string
	if in.Body.Source != nil {
		source = *in.Body.Source
	} else {
		source = string(policy.Format(in.Body.Policies))
	}
	newest, err := a.newestPolicies(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	set, problems := policy.Parse(workspaceSet, []byte(source), a.Policies.Inventory())
	check := PolicyCheck{
		OK: len(problems) == 0, Problems: policyProblems(problems), Source: source,
		Diff: diffLines(policy.Diff([]byte(newest.Source), []byte(source))),
	}
	if check.OK {
		check.Policies, check.Hash = set.Policies(), set.Version()
		check.Source = string(policy.Format(check.Policies))
	}
	return adminapi.Respond(check), nil
}

// draft compiles source as the policies of the workspace, preceded by the policies of the instance. The returned set is nil only if
// draft returns an error.
func (a *handlers) draft(param, source string) (*policy.Set, error) {
	own, problems := policy.Parse(workspaceSet, []byte(source), a.Policies.Inventory())
	if len(problems) > 0 {
		return nil, invalidPolicies(param, problems)
	}
	if joined := policy.Join(a.Policies.Instance(), own); joined != nil {
		return joined, nil
	}
	return own, nil
}

// DiffLine is a line of a diff.
type DiffLine struct {
	Kind string `json:"kind" enum:"same,removed,added,gap" doc:"gap stands for omitted lines."`
	Old  *int   `json:"old_line" doc:"Line in the earlier version. null for added lines."`
	New  *int   `json:"new_line" doc:"Line in the later version. null for removed lines."`
	Text string `json:"text"`
}

// diffLines parses a unified diff.
func diffLines(unified string) []DiffLine {
	list := []DiffLine{}
	var before, after int
	for line := range strings.Lines(unified) {
		line = strings.TrimSuffix(line, "\n")
		if line[0] == '@' {
			_, _ = fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &before, new(int), &after, new(int)) // hunk header as written by policy.Diff
			if len(list) > 0 || before > 1 || after > 1 {
				list = append(list, DiffLine{Kind: "gap"})
			}
			before, after = max(before, 1), max(after, 1)
			continue
		}
		one := DiffLine{Text: line[1:]}
		switch line[0] {
		case '-':
			one.Kind, one.Old = "removed", new(before)
			before++
		case '+':
			one.Kind, one.New = "added", new(after)
			after++
		default:
			one.Kind, one.Old, one.New = "same", new(before), new(after)
			before++
			after++
		}
		list = append(list, one)
	}
	return list
}
