package policies

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
)

// PolicyVersionList holds the versions of a workspace's policies.
type PolicyVersionList struct {
	Versions []PolicyVersion `json:"versions" doc:"Newest first. The first version is active."`
}

// PolicyVersionText is a version with its source.
type PolicyVersionText struct {
	PolicyVersion
	Source   string          `json:"source" doc:"YAML as saved."`
	Policies []policy.Policy `json:"policies"`
	Problems []PolicyProblem `json:"problems" doc:"Problems that prevent restoring this version, such as references to removed models."`
}

// PolicyDiff compares two versions.
type PolicyDiff struct {
	From  int64      `json:"from"`
	To    int64      `json:"to"`
	Text  string     `json:"text" doc:"Unified diff. Empty if the versions are equal."`
	Lines []DiffLine `json:"lines" doc:"Diff line by line."`
}

func (a *handlers) registerPolicyVersions() {
	tags := []string{"routing"}
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "list-policy-versions", Method: http.MethodGet, Path: "/policies/versions", Tags: tags,
		Summary: "List policy versions, newest first",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[PolicyVersionList], error) {
		versions, err := a.Versions.Versions(ctx, c.WorkspaceID)
		if err != nil {
			return nil, err
		}
		list, err := a.policyVersions(ctx, c, versions)
		if err != nil {
			return nil, err
		}
		return adminapi.Respond(PolicyVersionList{Versions: list}), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-policy-version", Method: http.MethodGet, Path: "/policies/versions/{n}", Tags: tags,
		Summary: "Get a policy version",
	}, func(ctx context.Context, c *adminapi.Call, in *policyVersionPath) (*adminapi.Output[PolicyVersionText], error) {
		v, err := a.Versions.Version(ctx, c.WorkspaceID, in.N)
		if err != nil {
			return nil, err
		}
		views, err := a.policyVersions(ctx, c, []policystore.Version{v})
		if err != nil {
			return nil, err
		}
		_, problems := policy.Parse(workspaceSet, []byte(v.Source), a.Policies.Inventory())
		return adminapi.Respond(PolicyVersionText{
			PolicyVersion: views[0], Source: v.Source, Policies: a.written(v.Source), Problems: policyProblems(problems),
		}), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "diff-policies", Method: http.MethodGet, Path: "/policies/diff", Tags: tags,
		Summary: "Compare two policy versions",
	}, func(ctx context.Context, c *adminapi.Call, in *diffPoliciesInput) (*adminapi.Output[PolicyDiff], error) {
		var before policystore.Version
		if in.From > 0 {
			var err error
			if before, err = a.Versions.Version(ctx, c.WorkspaceID, in.From); err != nil {
				return nil, err
			}
		}
		after, err := a.Versions.Version(ctx, c.WorkspaceID, in.To)
		if err != nil {
			return nil, err
		}
		unified := policy.Diff([]byte(before.Source), []byte(after.Source))
		return adminapi.Respond(PolicyDiff{From: before.Number, To: after.Number, Text: unified, Lines: diffLines(unified)}), nil
	})
	adminapi.Register(a.Server, account.ManagePolicies, huma.Operation{
		OperationID: "roll-back-policies", Method: http.MethodPost, Path: "/policies/rollback", Tags: tags,
		Summary:     "Restore an earlier policy version",
		Description: "Saves the earlier version as a new version. All models, providers and tags it refers to must still exist.",
	}, a.rollBackPolicies)
}

type policyVersionPath struct {
	N int64 `path:"n" minimum:"1" doc:"Version number."`
}

type diffPoliciesInput struct {
	From int64 `query:"from" minimum:"0" doc:"Earlier version. 0 or omitted compares with an empty document."`
	To   int64 `query:"to" minimum:"0" doc:"Later version. 0 or omitted selects the newest version."`
}

type rollBackInput struct {
	Body struct {
		Version int64  `json:"version" minimum:"1" doc:"Version to restore."`
		BasedOn *int64 `json:"based_on,omitempty" minimum:"0" doc:"Newest version known to the caller. The call is rejected if there is a newer one. Omit to skip this check."`
		Note    string `json:"note,omitempty" maxLength:"500" doc:"Reason for the change. Defaults to a note about the restored version."`
	}
}

func (a *handlers) rollBackPolicies(ctx context.Context, c *adminapi.Call, in *rollBackInput) (*adminapi.Output[WorkspacePolicies], error) {
	old, err := a.Versions.Version(ctx, c.WorkspaceID, in.Body.Version)
	if err != nil {
		return nil, err
	}
	newest, err := a.newestPolicies(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	basedOn, note := newest.Number, in.Body.Note
	adminapi.Apply(&basedOn, in.Body.BasedOn)
	if note == "" {
		note = fmt.Sprintf("Restored version %d", old.Number)
	}
	return a.replacePolicies(ctx, c, "policies.rollback", old.Source, basedOn, note)
}
