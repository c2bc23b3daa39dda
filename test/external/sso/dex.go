// Package sso runs Dex, an OpenID Connect identity provider, for tests of single sign-on.
package sso

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/dexidp/dex/connector"
	"github.com/dexidp/dex/server"
	"github.com/dexidp/dex/storage"
	"github.com/dexidp/dex/storage/memory"
)

// Registration of the gateway at the identity provider.
const (
	ClientID     = "fairlead"
	ClientSecret = "canary-dex-client-secret"
)

// The only user of the identity provider.
const (
	UserName = "ann"
	Password = "password-of-ann"
	Email    = "ann@example.com"
)

// Dex is a running identity provider with one user.
type Dex struct {
	Issuer string
	stop   func()

	mu        sync.Mutex
	groups    []string
	refreshed int
}

// Refreshed returns how often a refresh token was used.
func (d *Dex) Refreshed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refreshed
}

// SetGroups replaces the groups of the user.
func (d *Dex) SetGroups(groups ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.groups = groups
}

// directory is the connector of Dex that contains the user. It reads the groups again at every refresh, like an LDAP directory.
type directory struct{ dex *Dex }

// Open implements server.ConnectorConfig.
func (d directory) Open(string, *slog.Logger) (connector.Connector, error) { return d, nil }

// Prompt implements connector.PasswordConnector.
func (d directory) Prompt() string { return "User name" }

func (d directory) identity() connector.Identity {
	d.dex.mu.Lock()
	defer d.dex.mu.Unlock()
	return connector.Identity{UserID: "ann-1", Username: "Ann", Email: Email, EmailVerified: true, Groups: d.dex.groups}
}

// Login implements connector.PasswordConnector.
func (d directory) Login(_ context.Context, _ connector.Scopes, name, password string) (connector.Identity, bool, error) {
	return d.identity(), name == UserName && password == Password, nil
}

// Refresh implements connector.RefreshConnector.
func (d directory) Refresh(context.Context, connector.Scopes, connector.Identity) (connector.Identity, error) {
	d.dex.mu.Lock()
	d.dex.refreshed++
	d.dex.mu.Unlock()
	return d.identity(), nil
}

// Start starts Dex on an address such as 127.0.0.1:0. callback is the URL that it redirects to after a sign-in.
func Start(ctx context.Context, address, callback string, groups ...string) (*Dex, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	d := &Dex{Issuer: fmt.Sprintf("http://%s/dex", listener.Addr()), groups: groups}
	log := slog.New(slog.DiscardHandler)
	store := memory.New(log)
	if err := store.CreateClient(ctx, storage.Client{ID: ClientID, Secret: ClientSecret, Name: "Fairlead", RedirectURIs: []string{callback}}); err != nil {
		return nil, err
	}
	if err := store.CreateConnector(ctx, storage.Connector{ID: "directory", Type: "fairleadTest", Name: "Directory"}); err != nil {
		return nil, err
	}
	// The package offers no function to add a connector type, so the type is added to its global table.
	server.ConnectorsConfig["fairleadTest"] = func() server.ConnectorConfig { return &directory{d} }
	policy, err := server.NewRefreshTokenPolicy(log, false, "", "", "0s") // every refresh token can be used once
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	dex, err := server.NewServer(running, server.Config{
		Issuer: d.Issuer, Storage: store, SkipApprovalScreen: true, RefreshTokenPolicy: policy, Logger: log,
		AllowedGrantTypes: []string{"authorization_code", "refresh_token"},
	})
	if err != nil {
		cancel()
		return nil, err
	}
	serving := &http.Server{Handler: dex, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serving.Serve(listener) // returns when it is closed
	}()
	d.stop = func() {
		_ = serving.Close()
		cancel()
		<-done
	}
	return d, nil
}

// Stop ends the provider.
func (d *Dex) Stop() { d.stop() }
