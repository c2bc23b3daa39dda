// Package policystore manages the active policies. They consist of the instance's policies and the newest version of each workspace's
// policies. They are compiled once and replaced when a policy changes. Package policy defines policies.
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

// Topic is the name of the revision counter for policies.
const Topic = "policies"

// Version is a saved version of a workspace's policies. The newest is active.
type Version struct {
	Number    int64 // version number, starting at 1
	Hash      string
	Source    string // policy document in YAML; empty in lists
	Note      string // reason for the change
	CreatedBy string // ID of an account or a key
	CreatedAt time.Time
}

// Storage stores policy versions.
type Storage interface {
	// Revisions returns the latest revision of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedPolicies calls visit for the newest version of every workspace whose policies changed after the revision.
	ChangedPolicies(ctx context.Context, after int64, visit func(workspaceID string, v Version) error) error
	// AddPolicies saves the draft as the version after basedOn (0 for the first version) and returns it with its number. It
	// returns ErrConflict if basedOn is not the newest version.
	AddPolicies(ctx context.Context, workspaceID string, basedOn int64, draft Version) (Version, error)
	// PolicyVersions lists the versions of a workspace, newest first, without their source.
	PolicyVersions(ctx context.Context, workspaceID string) ([]Version, error)
	// PolicyVersion returns a version. Number 0 selects the newest version. It returns ErrNotFound if the version does not exist.
	PolicyVersion(ctx context.Context, workspaceID string, number int64) (Version, error)
}
