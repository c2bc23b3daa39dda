package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

func connectedProvidersReadBack(t *testing.T, db *store.DB) {
	ctx := t.Context()
	at := time.UnixMilli(1_790_000_000_000).UTC()
	house := provider.Connected{Name: "house", Format: "chat", BaseURL: "https://house.example/v1", Free: true, Allowed: "[::1]:8000", CreatedBy: "acc_ann", CreatedAt: at}
	cloud := provider.Connected{Name: "cloud", Vendor: "bedrock", Options: map[string]string{"region": "eu-central-1"}, CreatedAt: at.Add(time.Second)}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(db.Config.AddProvider(ctx, cloud))
	check(db.Config.AddProvider(ctx, house))
	if err := db.Config.AddProvider(ctx, house); !errors.Is(err, provider.ErrConnected) {
		t.Errorf("second provider with the same name: %v, want ErrConnected", err)
	}
	before, err := db.Revisions(ctx)
	check(err)
	house.BaseURL, house.Free = "https://other.example/v1", false
	check(db.Config.UpdateProvider(ctx, house))
	if err := db.Config.UpdateProvider(ctx, provider.Connected{Name: "none"}); !errors.Is(err, provider.ErrNotConnected) {
		t.Errorf("update of an unknown provider: %v, want ErrNotConnected", err)
	}
	all, err := db.Config.ConnectedProviders(ctx)
	check(err)
	if diff := cmp.Diff([]provider.Connected{house, cloud}, all); diff != "" {
		t.Error(diff)
	}

	check(db.Config.SaveCredential(ctx, vault.Credential{ID: "cred_house", Provider: "house", Sealed: []byte{1}}))
	check(db.Config.SaveCredential(ctx, vault.Credential{ID: "cred_cloud", Provider: "cloud", Sealed: []byte{1}}))
	check(db.Config.DeleteProvider(ctx, "house"))
	if err := db.Config.DeleteProvider(ctx, "house"); !errors.Is(err, provider.ErrNotConnected) {
		t.Errorf("second deletion: %v, want ErrNotConnected", err)
	}
	after, err := db.Revisions(ctx)
	check(err)
	keys, err := db.Config.Credentials(ctx)
	check(err)
	left := map[string]bool{}
	for _, k := range keys {
		left[k.ID] = true
	}
	if left["cred_house"] || !left["cred_cloud"] {
		t.Errorf("credentials after the deletion: %v, want only cred_cloud", left)
	}
	if after["providers"] != before["providers"]+2 {
		t.Errorf("revision %d, want %d: one for each successful change", after["providers"], before["providers"]+2)
	}
}
