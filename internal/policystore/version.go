// Package policystore owns the policies in force: those of the instance joined with the newest version of each workspace's
// own, compiled once and swapped when either changes. What a policy says and does is the matter of policy.
package policystore

import (
	"context"
	"errors"
	"time"
)

// The errors of a rulebook that callers look for.
var (
	ErrNotFound = errors.New("no such version of the policies")
	ErrConflict = errors.New("the policies were changed in the meantime")
)

// Topic is the name under which the store counts changes of policies.
const Topic = "policies"

// Version is one saved text of a workspace's policies. The newest is in force.
type Version struct {
	Number    int64 // from 1
	Hash      string
	Source    string // YAML; empty in lists
	Note      string // why it was changed
	CreatedBy string // id of an account or a key
	CreatedAt time.Time
}

// Storage keeps the versions of policies.
type Storage interface {
	// Revisions returns the number of the last change of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedPolicies visits the newest version of every workspace whose policies changed after the revision.
	ChangedPolicies(ctx context.Context, after int64, visit func(workspaceID string, v Version) error) error
	// AddPolicies writes the draft as the version after basedOn, which is 0 for the first, and returns it with its
	// number. ErrConflict when basedOn is not the newest.
	AddPolicies(ctx context.Context, workspaceID string, basedOn int64, draft Version) (Version, error)
	// PolicyVersions lists the versions of a workspace, newest first, without their text.
	PolicyVersions(ctx context.Context, workspaceID string) ([]Version, error)
	// PolicyVersion returns one version, the newest for number 0, or ErrNotFound.
	PolicyVersion(ctx context.Context, workspaceID string, number int64) (Version, error)
}
