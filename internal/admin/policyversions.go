package admin

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead/internal/account"
	"fairlead/internal/policy"
	"fairlead/internal/policystore"
)

// PolicyVersionList holds the versions of a workspace's policies.
type PolicyVersionList struct {
	Versions []PolicyVersion `json:"versions" doc:"Newest first; the first is in force."`
}

// PolicyVersionText is one version with what it says.
type PolicyVersionText struct {
	PolicyVersion
	Source   string          `json:"source" doc:"The YAML as it was saved."`
	Policies []policy.Policy `json:"policies"`
	Problems []PolicyProblem `json:"problems" doc:"What keeps it from being saved again today: things it names that are gone."`
}

// PolicyDiff compares two versions.
type PolicyDiff struct {
	From  int64      `json:"from"`
	To    int64      `json:"to"`
	Text  string     `json:"text" doc:"In the unified form; empty when nothing differs."`
	Lines []DiffLine `json:"lines" doc:"The same, line by line."`
}

func (a *API) registerPolicyVersions() {
	tags := []string{"routing"}
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "list-policy-versions", Method: http.MethodGet, Path: "/policies/versions", Tags: tags,
		Summary: "List the versions of the workspace's policies, newest first",
	}, a.listPolicyVersions)
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "get-policy-version", Method: http.MethodGet, Path: "/policies/versions/{n}", Tags: tags,
		Summary: "Get one version of the workspace's policies",
	}, a.getPolicyVersion)
	register(a, account.ReadPolicies, huma.Operation{
		OperationID: "diff-policies", Method: http.MethodGet, Path: "/policies/diff", Tags: tags,
		Summary: "Compare two versions of the workspace's policies",
	}, a.diffPolicies)
	register(a, account.ManagePolicies, huma.Operation{
		OperationID: "roll-back-policies", Method: http.MethodPost, Path: "/policies/rollback", Tags: tags,
		Summary:     "Save an earlier version as a new one",
		Description: "What it names must exist today; otherwise it is refused as save-policies refuses it.",
	}, a.rollBackPolicies)
}

func (a *API) listPolicyVersions(ctx context.Context, c *call, _ *struct{}) (*output[PolicyVersionList], error) {
	versions, err := a.Rulebook.Versions(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	list, err := a.policyVersions(ctx, c, versions)
	if err != nil {
		return nil, err
	}
	return &output[PolicyVersionList]{PolicyVersionList{Versions: list}}, nil
}

type policyVersionPath struct {
	N int64 `path:"n" minimum:"1" doc:"Number of the version."`
}

func (a *API) getPolicyVersion(ctx context.Context, c *call, in *policyVersionPath) (*output[PolicyVersionText], error) {
	v, err := a.Rulebook.Version(ctx, c.workspaceID, in.N)
	if err != nil {
		return nil, err
	}
	views, err := a.policyVersions(ctx, c, []policystore.Version{v})
	if err != nil {
		return nil, err
	}
	_, problems := policy.Parse(workspaceSet, []byte(v.Source), a.Rulebook.World())
	return &output[PolicyVersionText]{PolicyVersionText{
		PolicyVersion: views[0], Source: v.Source, Policies: a.written(v.Source), Problems: policyProblems(problems),
	}}, nil
}

type diffPoliciesInput struct {
	From int64 `query:"from" minimum:"0" doc:"Number of the earlier version; 0 or absent for nothing at all."`
	To   int64 `query:"to" minimum:"0" doc:"Number of the later version; 0 or absent for the newest."`
}

func (a *API) diffPolicies(ctx context.Context, c *call, in *diffPoliciesInput) (*output[PolicyDiff], error) {
	var before policystore.Version
	if in.From > 0 {
		var err error
		if before, err = a.Rulebook.Version(ctx, c.workspaceID, in.From); err != nil {
			return nil, err
		}
	}
	after, err := a.Rulebook.Version(ctx, c.workspaceID, in.To)
	if err != nil {
		return nil, err
	}
	unified := policy.Diff([]byte(before.Source), []byte(after.Source))
	return &output[PolicyDiff]{PolicyDiff{From: before.Number, To: after.Number, Text: unified, Lines: diffLines(unified)}}, nil
}

type rollBackInput struct {
	Body struct {
		Version int64  `json:"version" minimum:"1" doc:"The version to go back to."`
		BasedOn *int64 `json:"based_on,omitempty" minimum:"0" doc:"The newest version that the caller knows; refused when there is a newer one. Absent to go back in any case."`
		Note    string `json:"note,omitempty" maxLength:"500" doc:"Why; that it goes back is said when absent."`
	}
}

func (a *API) rollBackPolicies(ctx context.Context, c *call, in *rollBackInput) (*output[WorkspacePolicies], error) {
	old, err := a.Rulebook.Version(ctx, c.workspaceID, in.Body.Version)
	if err != nil {
		return nil, err
	}
	newest, err := a.newestPolicies(ctx, c.workspaceID)
	if err != nil {
		return nil, err
	}
	basedOn, note := newest.Number, in.Body.Note
	apply(&basedOn, in.Body.BasedOn)
	if note == "" {
		note = fmt.Sprintf("back to version %d", old.Number)
	}
	return a.replacePolicies(ctx, c, "policies.rollback", old.Source, basedOn, note)
}
