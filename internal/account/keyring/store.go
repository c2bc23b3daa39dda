package keyring

import (
	"context"
	"time"

	"fairlead.dev/internal/account"
)

// Store provides the keys and workspaces and records uses.
type Store interface {
	// Revisions returns the latest revision of each topic.
	Revisions(ctx context.Context) (map[string]int64, error)
	// ChangedKeys visits every key that changed after the revision, with its secrets, oldest secret first.
	ChangedKeys(ctx context.Context, after int64, visit func(*account.Key) error) error
	// ChangedWorkspaces visits every workspace that changed after the revision.
	ChangedWorkspaces(ctx context.Context, after int64, visit func(*account.Workspace) error) error
	// RecordUses writes the last use of keys and the first use of secrets. It keeps a stored last use that is later and a stored
	// first use that is earlier.
	RecordUses(ctx context.Context, uses []KeyUse) error
}

// KeyUse records the last use of a key and the first uses of its secrets.
type KeyUse struct {
	KeyID  string
	Client string
	At     time.Time
	First  []SecretUse // first uses of secrets since the last call
}

// SecretUse is the first use of a secret.
type SecretUse struct {
	Hash []byte
	At   time.Time
}
