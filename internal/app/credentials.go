package app

import (
	"context"
	"errors"
	"fmt"

	"fairlead/internal/account"
	"fairlead/internal/admin/providers"
	"fairlead/internal/provider"
	"fairlead/internal/providerset"
	"fairlead/internal/redact"
	"fairlead/internal/vault"
)

// vaultCredentials opens the credentials that were entered in the dashboard. One that cannot be opened is left out and
// reported: the others must go on working.
func (a *App) vaultCredentials(ctx context.Context) (providerset.Credentials, error) {
	sealed, err := a.vault.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("read stored credentials: %w", err)
	}
	all := providerset.Credentials{}
	for _, c := range sealed {
		secret, err := a.vault.Open(c)
		if err != nil {
			a.report("open credential "+c.ID, err)
			continue
		}
		if len(secret) < redact.MinCredential { // stored by a version that accepted it
			a.report("use credential "+c.ID, fmt.Errorf("it has fewer than %d characters; replace it with a longer one", redact.MinCredential))
			continue
		}
		all[c.Provider] = append(all[c.Provider], provider.Credential{ID: c.ID, Secret: secret, Source: "dashboard"})
	}
	return all, nil
}

// AddCredential stores a secret and puts it to use at once.
func (b bridge) AddCredential(ctx context.Context, name, secret string) (providers.CredentialState, error) {
	c, err := b.app.vault.Add(ctx, name, secret, "")
	if err != nil {
		return providers.CredentialState{}, err
	}
	if err := b.app.rebuild(ctx); err != nil {
		return providers.CredentialState{}, err
	}
	return providers.CredentialState{ID: c.ID, Hint: c.Hint, Source: "dashboard"}, nil
}

// RemoveCredential deletes a stored secret and stops using it at once.
func (b bridge) RemoveCredential(ctx context.Context, name, credentialID string) error {
	err := b.app.vault.Remove(ctx, name, credentialID)
	if errors.Is(err, vault.ErrNotFound) {
		return account.ErrNotFound
	}
	if err != nil {
		return err
	}
	return b.app.rebuild(ctx)
}
