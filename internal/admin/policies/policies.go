package policies

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policy/condition"
	"fairlead.dev/internal/policystore"
)

// workspaceSet is the source name of workspace policies in traces.
const workspaceSet = "workspace"

// PolicyBook holds the data of the policies page.
type PolicyBook struct {
	Instance  InstancePolicies  `json:"instance" doc:"Policies of the instance. They are evaluated first, and workspace policies cannot override them."`
	Workspace WorkspacePolicies `json:"workspace"`
	Fields    []PolicyField     `json:"fields" doc:"Fields available in conditions."`
	Names     PolicyNames       `json:"names" doc:"Names available in effects."`
	Editable  bool              `json:"editable" doc:"Whether the caller can save the workspace's policies."`
	Reason    *string           `json:"reason" doc:"Why the policies cannot be edited. null if editable."`
}

// InstancePolicies holds the policies in the configuration file.
type InstancePolicies struct {
	Source   string          `json:"source" doc:"Policies as YAML."`
	Policies []policy.Policy `json:"policies" doc:"Policies in evaluation order, including disabled ones."`
	Version  string          `json:"version" doc:"Content hash. Empty without policies."`
	File     *string         `json:"file" doc:"Path of the configuration file. null if there is none, and for callers who are not operators."`
}

// WorkspacePolicies holds the newest policies of a workspace.
type WorkspacePolicies struct {
	PolicyVersion
	Source   string          `json:"source" doc:"YAML as saved, including comments. Empty before the first version."`
	Policies []policy.Policy `json:"policies" doc:"Policies in evaluation order, including disabled ones."`
	Problems []PolicyProblem `json:"problems" doc:"Policies that are not fully active because they refer to removed models, providers or tags."`
}

// PolicyVersion describes a version.
type PolicyVersion struct {
	Version int64      `json:"version" doc:"Version number, starting at 1. 0 before the first version."`
	Hash    string     `json:"hash" doc:"Content hash, independent of formatting."`
	SavedAt *time.Time `json:"saved_at"`
	SavedBy *string    `json:"saved_by" doc:"Account ID or key ID."`
	Label   *string    `json:"saved_by_label" doc:"Email address or key name, if known."`
	Note    string     `json:"note" doc:"Reason for the change."`
}

// PolicyField is a field available in conditions.
type PolicyField struct {
	Name   string   `json:"name" example:"request.task"`
	Type   string   `json:"type" doc:"text, number, true or false, map of text, or time."`
	Doc    string   `json:"doc"`
	Values []string `json:"values" doc:"Allowed values, if the list is closed."`
}

// PolicyNames holds the names that effects can refer to.
type PolicyNames struct {
	Models    []string `json:"models"`
	Providers []string `json:"providers"`
	Targets   []string `json:"targets" doc:"provider/model."`
	Tags      []string `json:"tags"`
}

func (a *handlers) registerPolicies() {
	tags := []string{"routing"}
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "get-policies", Method: http.MethodGet, Path: "/policies", Tags: tags,
		Summary: "Get the active policies and the names available to them",
	}, func(ctx context.Context, c *adminapi.Call, _ *struct{}) (*adminapi.Output[PolicyBook], error) {
		own, err := a.workspacePolicies(ctx, c)
		if err != nil {
			return nil, err
		}
		inventory := a.Policies.Inventory()
		book := PolicyBook{
			Instance: a.instancePolicies(c), Workspace: own, Fields: []PolicyField{},
			Names: PolicyNames{Models: sorted(inventory.Models), Providers: sorted(inventory.Providers), Targets: sorted(inventory.Targets), Tags: sorted(inventory.Tags)},
		}
		for _, f := range condition.Fields() {
			book.Fields = append(book.Fields, PolicyField{Name: f.Name, Type: f.Type, Doc: f.Doc, Values: f.Values})
		}
		book.Reason = adminapi.NonEmpty(a.policiesClosed(c))
		book.Editable = book.Reason == nil
		return adminapi.Respond(book), nil
	})
	adminapi.Register(a.Server, account.ReadPolicies, huma.Operation{
		OperationID: "check-policies", Method: http.MethodPost, Path: "/policies/check", Tags: tags,
		Summary:     "Validate policies without saving them",
		Description: "Accepts YAML or a list of policies. Returns all problems with line and column.",
	}, a.checkPolicies)
	adminapi.Register(a.Server, account.ManagePolicies, huma.Operation{
		OperationID: "save-policies", Method: http.MethodPut, Path: "/policies", Tags: tags,
		Summary: "Save the workspace's policies as a new version",
		Description: "Takes effect immediately, and within seconds on other replicas. Invalid policies are rejected with details.problems, " +
			"each with line and column. If based_on is not the newest version, the call is rejected with the newest version in details.version.",
	}, func(ctx context.Context, c *adminapi.Call, in *savePoliciesInput) (*adminapi.Output[WorkspacePolicies], error) {
		return a.replacePolicies(ctx, c, "policies.save", in.Body.Source, in.Body.BasedOn, in.Body.Note)
	})
}

func sorted(names []string) []string {
	list := slices.Clone(names)
	slices.Sort(list)
	return slices.Compact(list)
}

// policiesClosed returns why the caller cannot save policies, or an empty string.
func (a *handlers) policiesClosed(c *adminapi.Call) string {
	if !c.Actor.May(account.ManagePolicies) {
		return adminapi.AsError(adminapi.Denied(c.Actor, account.ManagePolicies)).Message
	}
	return a.ReadOnly()
}

// instancePolicies returns the instance's policies as YAML. The YAML is generated, because the configuration file contains more
// than policies.
func (a *handlers) instancePolicies(c *adminapi.Call) InstancePolicies {
	set := a.Policies.Instance()
	v := InstancePolicies{Policies: set.Policies(), Version: set.Version()}
	if len(v.Policies) == 0 {
		return v
	}
	v.Source = string(policy.Format(v.Policies))
	if c.Actor.Operator {
		v.File = adminapi.NonEmpty(a.ConfigFile())
	}
	return v
}

func (a *handlers) workspacePolicies(ctx context.Context, c *adminapi.Call) (WorkspacePolicies, error) {
	newest, err := a.newestPolicies(ctx, c.WorkspaceID)
	if err != nil {
		return WorkspacePolicies{}, err
	}
	versions, err := a.policyVersions(ctx, c, []policystore.Version{newest})
	if err != nil {
		return WorkspacePolicies{}, err
	}
	return WorkspacePolicies{
		PolicyVersion: versions[0], Source: newest.Source, Policies: a.written(newest.Source),
		Problems: policyProblems(a.Policies.Problems(c.WorkspaceID)),
	}, nil
}

// newestPolicies returns the newest version, or version 0 if there is none.
func (a *handlers) newestPolicies(ctx context.Context, workspaceID string) (policystore.Version, error) {
	v, err := a.Versions.Version(ctx, workspaceID, 0)
	if errors.Is(err, policystore.ErrNotFound) {
		return policystore.Version{}, nil
	}
	return v, err
}

// written parses a saved source. References to removed names are allowed.
func (a *handlers) written(source string) []policy.Policy {
	inventory := a.Policies.Inventory()
	inventory.AllowUnknown = true
	set, _ := policy.Parse(workspaceSet, []byte(source), inventory)
	return set.Policies()
}

// policyVersions returns versions with the names of their authors.
func (a *handlers) policyVersions(ctx context.Context, c *adminapi.Call, versions []policystore.Version) ([]PolicyVersion, error) {
	ids := make([]string, len(versions))
	for i := range versions {
		ids[i] = versions[i].CreatedBy
	}
	names, err := a.Labels.Labels(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	list := make([]PolicyVersion, len(versions))
	for i, v := range versions {
		list[i] = PolicyVersion{
			Version: v.Number, Hash: v.Hash, SavedAt: adminapi.Time(v.CreatedAt), SavedBy: adminapi.NonEmpty(v.CreatedBy),
			Label: adminapi.NonEmpty(cmp.Or(names[v.CreatedBy], v.CreatedBy)), Note: v.Note,
		}
	}
	return list, nil
}

type savePoliciesInput struct {
	Body struct {
		Source  string `json:"source" maxLength:"65536" doc:"Policies as YAML."`
		BasedOn int64  `json:"based_on" minimum:"0" doc:"Version that was edited. 0 if there was none."`
		Note    string `json:"note,omitempty" maxLength:"500" doc:"Reason for the change."`
	}
}

// replacePolicies saves policies as a new version, writes an audit event and returns the active policies.
func (a *handlers) replacePolicies(ctx context.Context, c *adminapi.Call, action, source string, basedOn int64, note string) (*adminapi.Output[WorkspacePolicies], error) {
	if closed := a.policiesClosed(c); closed != "" {
		return nil, llm.Errorf(llm.Conflict, "%s", closed)
	}
	before, err := a.newestPolicies(ctx, c.WorkspaceID)
	if err != nil {
		return nil, err
	}
	saved, problems, err := a.Versions.Save(ctx, c.WorkspaceID, source, basedOn, note, cmp.Or(c.Actor.AccountID, c.Actor.KeyID))
	if errors.Is(err, policystore.ErrConflict) {
		newest, missing := a.newestPolicies(ctx, c.WorkspaceID)
		if missing != nil {
			return nil, missing
		}
		e := llm.Errorf(llm.Conflict, "The policies have changed: the newest version is %d. Compare it with your version and save again.", newest.Number).
			With("version", newest.Number)
		e.Err = err
		return nil, e
	}
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, invalidPolicies("source", problems)
	}
	if saved.Number != before.Number {
		if err := a.Record(ctx, c.Actor, action, "policies", notedPolicies(before), notedPolicies(saved)); err != nil {
			return nil, err
		}
	}
	view, err := a.workspacePolicies(ctx, c)
	if err != nil {
		return nil, err
	}
	return adminapi.Respond(view), nil
}

// notedVersion describes a version in the audit log, without its source.
type notedVersion struct {
	Version int64  `json:"version"`
	Hash    string `json:"hash"`
	Note    string `json:"note,omitempty"`
}

func notedPolicies(v policystore.Version) any {
	if v.Number == 0 {
		return nil
	}
	return notedVersion{Version: v.Number, Hash: v.Hash, Note: v.Note}
}
