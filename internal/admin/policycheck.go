package admin

import (
	"context"
	"fmt"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/policy"
)

// PolicyProblem is one thing that is wrong with a document of policies, and where.
type PolicyProblem struct {
	Line    int    `json:"line" doc:"From 1."`
	Column  int    `json:"column" doc:"In characters, from 1."`
	Width   int    `json:"width" doc:"Characters to mark, at least 1."`
	Path    string `json:"path" doc:"Such as policies[2].when."`
	Policy  string `json:"policy" doc:"Name of the policy; empty where none is meant."`
	Code    string `json:"code" doc:"Kind of problem, to be looked up." example:"E2031"`
	Message string `json:"message" doc:"One line without a full stop."`
	Hint    string `json:"hint" doc:"What was probably meant, or what to write; may be empty."`
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

// invalidPolicies refuses a document in a field of the body.
func invalidPolicies(param string, problems []policy.Problem) error {
	list := make([]Problem, 0, len(problems))
	for _, p := range problems[:min(len(problems), maxProblems)] {
		list = append(list, Problem{
			In: "body", Param: param, Message: p.Message, Line: p.Line, Column: p.Column, Width: p.Width,
			Path: p.Path, Hint: p.Hint, Code: string(p.Code),
		})
	}
	e := llm.Errorf(llm.InvalidRequest, "The policies are not valid: %s", problems[0])
	e.Param = param
	return e.With("problems", list)
}

// PolicyCheck says whether policies could be saved.
type PolicyCheck struct {
	OK       bool            `json:"ok" doc:"They could be saved."`
	Problems []PolicyProblem `json:"problems" doc:"Everything that is wrong, in the order of the document."`
	Policies []policy.Policy `json:"policies" doc:"As they were understood; none when there are problems."`
	Source   string          `json:"source" doc:"The policies as well laid out YAML; with problems, the document that line and column speak of."`
	Hash     string          `json:"hash" doc:"Of what they say; equal to that of the version in force when they say the same. Empty with problems and without policies."`
	Diff     []DiffLine      `json:"diff" doc:"What differs from the newest version, line by line."`
}

type checkPoliciesInput struct {
	Body struct {
		Source   *string         `json:"source,omitempty" maxLength:"65536" doc:"The policies as YAML."`
		Policies []policy.Policy `json:"policies,omitempty" maxItems:"200" doc:"The same as a form has them, instead."`
	}
}

func (a *API) checkPolicies(ctx context.Context, c *call, in *checkPoliciesInput) (*output[PolicyCheck], error) {
	if (in.Body.Source == nil) == (in.Body.Policies == nil) {
		return nil, invalid("body", "source", "give the policies as source or as policies, one of both")
	}
	var source string
	if in.Body.Source != nil {
		source = *in.Body.Source
	} else {
		source = string(policy.Format(in.Body.Policies))
	}
	newest, err := a.newestPolicies(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	set, problems := policy.Parse(workspaceSet, []byte(source), a.Rulebook.World())
	check := PolicyCheck{
		OK: len(problems) == 0, Problems: policyProblems(problems), Source: source,
		Diff: diffLines(policy.Diff([]byte(newest.Source), []byte(source))),
	}
	if check.OK {
		check.Policies, check.Hash = set.Policies(), set.Version()
		check.Source = string(policy.Format(check.Policies))
	}
	return &output[PolicyCheck]{check}, nil
}

// draft compiles a text as if it were the workspace's own policies, with those of the instance before them. It is never
// nil without an error: a text without policies stands for none.
func (a *API) draft(param, source string) (*policy.Set, error) {
	own, problems := policy.Parse(workspaceSet, []byte(source), a.Rulebook.World())
	if len(problems) > 0 {
		return nil, invalidPolicies(param, problems)
	}
	if joined := policy.Join(a.Rulebook.Instance(), own); joined != nil {
		return joined, nil
	}
	return own, nil
}

// DiffLine is one line of a comparison.
type DiffLine struct {
	Kind string `json:"kind" enum:"same,removed,added,gap" doc:"A gap stands for lines that are left out."`
	Old  *int   `json:"old_line" doc:"Line in the earlier text; null for one that was added."`
	New  *int   `json:"new_line" doc:"Line in the later text; null for one that was removed."`
	Text string `json:"text"`
}

// diffLines takes a comparison in the unified form apart.
func diffLines(unified string) []DiffLine {
	list := []DiffLine{}
	var before, after int
	for line := range strings.Lines(unified) {
		line = strings.TrimSuffix(line, "\n")
		if line[0] == '@' {
			_, _ = fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &before, new(int), &after, new(int)) // Diff has written it
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
