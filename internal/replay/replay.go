// Package replay recomputes logged decisions. Verify recomputes one decision and compares it with its record; Run
// recomputes the decisions of stored traffic under other rules and reports the changes. The package calls no provider
// and changes no stored data. Package route makes the decisions.
package replay

import (
	"context"
	"fmt"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/route"
)

// Kinds of versioned data to which a decision refers.
const (
	Snapshots = "snapshot"
	Catalogs  = "catalog"
	Policies  = "policies"
	Abilities = "abilities"
)

// Archive reads the data from which past decisions were computed.
type Archive interface {
	// KeptVersion returns the stored data of a kind and version, or an error if there is none.
	KeptVersion(ctx context.Context, kind, version string) ([]byte, error)
}

// Keeper stores the data from which decisions are computed.
type Keeper interface {
	// KeepVersion stores a version. It does not change a version that is already stored.
	KeepVersion(ctx context.Context, kind, version string, body []byte) error
}

// Keep stores a snapshot with its catalog, policies and corrections, so that decisions that use them can be recomputed
// later. It must be called whenever a snapshot, policies or corrections become active. Policies and corrections may be
// nil.
func Keep(ctx context.Context, k Keeper, snap *route.Snapshot, policies *policy.Set, corrections *feedback.Corrections) error {
	if snap != nil && snap.Version() != "" {
		body, err := snap.Archive()
		if err != nil {
			return err
		}
		if err := k.KeepVersion(ctx, Snapshots, snap.Version(), body); err != nil {
			return err
		}
		if body, err = snap.Catalog.Archive(); err != nil {
			return err
		}
		if err := k.KeepVersion(ctx, Catalogs, snap.Catalog.Version(), body); err != nil {
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
