// Package instance loads the configuration and opens the data of the instance that a command works on.
package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/spelling"
)

// WorkspaceHelp is the help text of the --workspace flag.
const WorkspaceHelp = "workspace id (default: the first workspace)"

const (
	// SpoolDelay is the maximum time between the end of a request and the arrival of its entry in the store.
	SpoolDelay = 2 * time.Second
	spoolRetry = 100 * time.Millisecond
)

// LoadConfig loads the configuration for a command. If only flags have problems, it returns a usage error.
func LoadConfig(c *cli.Console, o *cli.Options, flags map[string]string) (*config.Loaded, error) {
	loaded, err := config.Load(ConfigSources(c, o, flags))
	if problems, ok := errors.AsType[*config.Problems](err); ok {
		if !slices.ContainsFunc(problems.List, func(p config.Problem) bool { return !strings.HasPrefix(p.Source, "--") }) {
			return nil, &cli.UsageError{Err: err}
		}
	}
	return loaded, err
}

// ConfigSources returns the configuration sources for a command.
func ConfigSources(c *cli.Console, o *cli.Options, flags map[string]string) config.Options {
	return config.Options{Path: o.Config, Env: c.Env, Flags: flags, Vendors: providerset.VendorNames(), Missing: providerset.MissingAddress}
}

// openInstance opens the instance given by the configuration.
func openInstance(ctx context.Context, c *cli.Console, o *cli.Options) (*Instance, error) {
	loaded, err := LoadConfig(c, o, o.Flags())
	if err != nil {
		return nil, err
	}
	for _, warning := range loaded.Warnings {
		c.Infof(o, "warning: %s", cli.Clean(warning))
	}
	instance, err := Open(ctx, loaded)
	if err != nil {
		return nil, err
	}
	if instance.New {
		c.Infof(o, "created data directory %s", loaded.Config.DataDir)
	}
	return instance, nil
}

// OwnURL returns the local address of a server with this configuration. If the configuration is invalid, it prints a warning and
// uses defaults for the invalid values, because the server may still be running with its previous configuration.
func OwnURL(c *cli.Console, o *cli.Options) string {
	loaded, err := LoadConfig(c, o, o.Flags())
	if err != nil {
		c.Infof(o, "warning: the configuration has problems; see  fairlead config check")
		return ListenURL(config.Readable(ConfigSources(c, o, o.Flags())))
	}
	return ListenURL(loaded.Config)
}

// ListenURL returns the local address of the server. A wildcard listen address is replaced with loopback.
func ListenURL(c config.Config) string {
	scheme := "http"
	if c.TLS.Cert != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return scheme + "://" + c.Listen
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// BaseURL returns the address for clients: the public URL, or the local address if it is not set.
func BaseURL(c config.Config) string {
	if c.PublicURL != "" {
		return strings.TrimSuffix(c.PublicURL, "/")
	}
	return ListenURL(c)
}

// With opens the instance, calls do and closes the instance.
func With(ctx context.Context, c *cli.Console, o *cli.Options, do func(*Instance) error) (err error) {
	instance, err := openInstance(ctx, c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	return do(instance)
}

// WithProviders opens the instance, builds its providers and calls do. It closes the instance and the providers afterwards.
func WithProviders(ctx context.Context, c *cli.Console, o *cli.Options, do func(*ProviderSet) error) (err error) {
	instance, err := openInstance(ctx, c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, instance.Close()) }()
	log := slog.New(slog.NewTextHandler(c.Err, nil))
	if o.Quiet {
		log = slog.New(slog.DiscardHandler)
	}
	set, err := instance.Providers(ctx, c.Getenv, c.Version, log)
	if err != nil {
		return err
	}
	defer set.Close()
	return do(set)
}

// FindKey finds a key by ID or name. If several keys have the name, valid keys take precedence.
func FindKey(ctx context.Context, i *Instance, w account.Workspace, text string) (account.Key, error) {
	keys, err := i.Accounts.Keys(ctx, w.ID)
	if err != nil {
		return account.Key{}, err
	}
	var valid, over []account.Key
	var names []string
	for _, key := range keys {
		names = append(names, key.Name)
		switch {
		case key.ID == text:
			return key, nil
		case key.Name == text && key.RevokedAt.IsZero():
			valid = append(valid, key)
		case key.Name == text:
			over = append(over, key)
		}
	}
	if len(valid) == 0 {
		valid = over
	}
	switch len(valid) {
	case 0:
		fix := "see  fairlead keys list"
		if near := spelling.Closest(text, names); near != "" {
			fix = fmt.Sprintf("did you mean %q? See  fairlead keys list", cli.Clean(near))
		}
		return account.Key{}, cli.WithFix(fmt.Errorf("key %q not found", cli.Clean(text)), "%s", fix)
	case 1:
		return valid[0], nil
	}
	var ids []string
	for _, key := range valid {
		ids = append(ids, key.ID)
	}
	return account.Key{}, cli.WithFix(fmt.Errorf("%d keys have the name %q", len(valid), cli.Clean(text)), "use an id: %s", cli.JoinOr(ids))
}

// ResolveKeys replaces key names in a filter with key IDs. Values that are not key names are unchanged, because the log may
// contain entries of deleted keys.
func ResolveKeys(ctx context.Context, i *Instance, f *requestlog.Filter) error {
	if len(f.Key) == 0 {
		return nil
	}
	keys, err := i.Accounts.Keys(ctx, f.WorkspaceID)
	if err != nil {
		return err
	}
	var ids []string
	for _, text := range f.Key {
		found := false
		for _, key := range keys {
			if key.Name == text {
				ids, found = append(ids, key.ID), true
			}
		}
		if !found {
			ids = append(ids, text)
		}
	}
	f.Key = ids
	return nil
}

// AwaitEntry reads an entry. It retries for up to SpoolDelay, because the entry may still be in the spool.
func AwaitEntry(ctx context.Context, store requestlog.Reader, workspaceID, id string) (requestlog.Entry, error) {
	for waited := time.Duration(0); ; waited += spoolRetry {
		e, err := store.Entry(ctx, workspaceID, id)
		if !errors.Is(err, requestlog.ErrNotFound) || waited >= SpoolDelay {
			return e, err
		}
		select {
		case <-ctx.Done():
			return e, ctx.Err()
		case <-time.After(spoolRetry):
		}
	}
}

// RequestNotFound returns the error for an unknown request ID.
func RequestNotFound(id, workspaceID string) error {
	return cli.WithFix(fmt.Errorf("request %q not found in workspace %s", cli.Clean(id), workspaceID),
		"see  fairlead requests list,  or use another --workspace or --data-dir")
}
