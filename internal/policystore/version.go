// Package policystore owns the active policies: those of the instance joined with the newest version of each workspace's
// policies, compiled once and swapped when either changes. Package policy defines what a policy is.
package policystore

import (
	"context"
	"errors"
	"time"
)

// Errors that callers can test for.
var (
	ErrNotFound = errors.New("policy version not found")
	ErrConflict = errors.New("the policies were changed by another request")
)

// Topic is the name of the policies' revision counter.
const Topic = "policies"

// Version is a saved version of a workspace's policies. The newest is active.
type Version struct {
	Number    int64 // from 1
	Hash      string
	Source    string // YAML; empty in lists
	Note      string // reason for the change
	CreatedBy string // id of an account or a key
	CreatedAt time.Time
}

// Storage stores the versions of policies.
type Storage interface {
	// Revisions returns the number of the last change of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedPolicies visits the newest version of every workspace whose policies changed after the revision.
	ChangedPolicies(ctx context.Context, after int64, visit func(workspaceID string, v Version) error) error
	// AddPolicies saves the draft as the version after basedOn (0 for the first) and returns it with its number. It
	// returns ErrConflict if basedOn is not the newest version.
	AddPolicies(ctx context.Context, workspaceID string, basedOn int64, draft Version) (Version, error)
	// PolicyVersions lists the versions of a workspace, newest first, without their source.
	PolicyVersions(ctx context.Context, workspaceID string) ([]Version, error)
	// PolicyVersion returns one version, the newest for number 0, or ErrNotFound.
	PolicyVersion(ctx context.Context, workspaceID string, number int64) (Version, error)
}
