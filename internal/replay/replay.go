// Package replay computes logged decisions again. Verify compares one with what its record says; Run decides stored
// traffic anew under other rules and says what would change. It calls no provider and changes nothing that is stored.
// How a decision is made is the matter of route.
package replay

import (
	"context"
	"fmt"

	"fairlead/internal/feedback"
	"fairlead/internal/policy"
	"fairlead/internal/route"
)

// The kinds of things whose versions a decision names.
const (
	Snapshots = "snapshot"
	Policies  = "policies"
	Abilities = "abilities"
)

// Archive has what was in force when decisions were made.
type Archive interface {
	// KeptVersion returns what was kept under a kind and version, or an error when nothing is.
	KeptVersion(ctx context.Context, kind, version string) ([]byte, error)
}

// Keeper keeps what is in force.
type Keeper interface {
	// KeepVersion keeps a version. One that is kept already stays as it is.
	KeepVersion(ctx context.Context, kind, version string, body []byte) error
}

// Keep archives what is in force, so that decisions made with it can be computed again later. Call it whenever one of the
// three comes into force; policies and corrections may be nil.
func Keep(ctx context.Context, k Keeper, snap *route.Snapshot, policies *policy.Set, corrections *feedback.Corrections) error {
	if snap != nil && snap.Version() != "" {
		body, err := snap.Archive()
		if err != nil {
			return err
		}
		if err := k.KeepVersion(ctx, Snapshots, snap.Version(), body); err != nil {
			return err
		}
	}
	for _, part := range policies.Parts() {
		if part.Version() == "" {
			continue
		}
		if err := k.KeepVersion(ctx, Policies, part.Version(), policy.Format(part.Policies())); err != nil {
			return err
		}
	}
	if corrections == nil || corrections.Version == "" {
		return nil
	}
	body, err := corrections.Encode()
	if err != nil {
		return fmt.Errorf("archive corrections: %w", err)
	}
	return k.KeepVersion(ctx, Abilities, corrections.Version, body)
}
