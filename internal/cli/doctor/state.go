package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/account"
	adminkeys "fairlead.dev/internal/admin/keys"
	adminproviders "fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/cli/providers"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/vault"
)

const (
	storeTime = 8 * time.Second // time limit for the database, which leaves time to test the providers
	keySoon   = 7 * 24 * time.Hour
	clockOff  = 30 * time.Second // clock difference that a slow response cannot explain
	clockBad  = 5 * time.Minute  // minimum clock difference at which providers reject signed calls
	mostNamed = 3                // maximum number of names in a list
)

// state checks the database, the providers, the prices and the keys. Providers and prices are checked even if the database is
// unavailable.
func (d *doctor) state(ctx context.Context) []finding {
	instance, found := d.database(ctx)
	if instance != nil {
		defer func() { _ = instance.Close() }() // the error is ignored: the instance was only read
	}
	set, err := d.providerSet(ctx, instance)
	if err != nil {
		found = append(found, finding{"providers", broken, err.Error(), "see  fairlead config check"})
	} else {
		defer set.Close()
		found = append(found, d.providers(ctx, set)...)
		found = append(found, prices(set.Providers())...)
	}
	if instance != nil {
		found = append(found, d.keys(ctx, instance))
		found = append(found, d.export(ctx, instance)...)
	}
	return found
}

// export checks the continuous export of the audit log and the request log.
func (d *doctor) export(ctx context.Context, instance *instance.Instance) (found []finding) {
	const check = "export"
	if !d.loaded.Config.Export.Enabled() {
		return nil
	}
	s, started, err := instance.Store.ExportState(ctx)
	if err != nil {
		return []finding{{check, broken, err.Error(), "see the other findings about the database"}}
	}
	if !started {
		return []finding{{check, doubt, "configured, but no server has started it yet", "start the server, or restart it"}}
	}
	now, waiting := d.console.Now(), "nothing is waiting"
	if !s.Oldest.IsZero() {
		waiting = "the oldest waiting record is " + cli.Duration(max(now.Sub(s.Oldest), 0)) + " old"
	}
	if s.Error != "" {
		message := fmt.Sprintf("failing since %s, %s: %s", d.console.FormatTime(d.options, s.FailingSince, time.DateTime), waiting, s.Error)
		found = append(found, finding{check, doubt, message, "correct the receiver; records wait in the database and are sent afterwards"})
	}
	if s.Deleted > 0 {
		message := fmt.Sprintf("%s deleted before the export, last detected on %s", cli.Plural(int(s.Deleted), "record"), d.console.FormatTime(d.options, s.DeletedAt, time.DateTime))
		found = append(found, finding{check, doubt, message, "keep entries longer than the receiver may be unavailable (log.entry_retention); requests that people delete also count"})
	}
	if len(found) == 0 {
		found = []finding{{check, fine, fmt.Sprintf("%s sent since %s, %s", cli.Plural(int(s.Sent), "record"), d.console.FormatTime(d.options, s.Since, time.DateTime), waiting), ""}}
	}
	return found
}

// database opens the instance if it exists. It does not create an instance.
func (d *doctor) database(ctx context.Context) (*instance.Instance, []finding) {
	const check = "database"
	c := d.loaded.Config
	shown := store.Redact(c.Store)
	_, errDir := os.Stat(c.DataDir)
	if c.Store == "sqlite" {
		shown = filepath.Join(c.DataDir, "fairlead.db")
		if _, errDir = os.Stat(shown); errors.Is(errDir, fs.ErrNotExist) {
			return nil, []finding{{check, fine, shown + " does not exist yet; the first start creates it", ""}}
		}
		if !hasMasterKey(c) {
			return nil, []finding{unopened(check, shown, fmt.Errorf("its master key is missing: %w", vault.ErrOtherKey))}
		}
	}
	whole := errDir == nil && hasMasterKey(c)
	began := time.Now()
	instance, err := d.open(ctx, whole)
	if err != nil {
		return nil, []finding{unopened(check, shown, err)}
	}
	return instance, []finding{{check, fine, fmt.Sprintf("%s responds in %s", shown, cli.Duration(time.Since(began))), ""}}
}

// open opens the instance or, if whole is false, only checks that its database responds. It stops waiting if the database hangs.
func (d *doctor) open(ctx context.Context, whole bool) (*instance.Instance, error) {
	type result struct {
		instance *instance.Instance
		err      error
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		if whole {
			instance, err := instance.Open(ctx, d.loaded)
			done <- result{instance, err}
			return
		}
		done <- result{nil, store.Reach(ctx, d.loaded.Config.Store, d.loaded.Config.DataDir)}
	}()
	select {
	case r := <-done:
		return r.instance, r.err
	case <-ctx.Done():
		return nil, fmt.Errorf("no response within %s: %w", cli.Duration(storeTime), ctx.Err())
	}
}

// unopened returns the finding for a database that cannot be opened.
func unopened(check, shown string, err error) finding {
	fix := cli.FixText(err)
	switch {
	case fix != "":
	case store.Unreachable(err):
		fix = "start the database, or correct store in the configuration; check address, password and firewall"
	default:
		fix = "restore a backup, or correct store in the configuration"
	}
	return finding{check, broken, fmt.Sprintf("%s cannot be opened: %v", shown, err), fix}
}

// providerSet builds the providers with the stored settings, or without them when the database is unavailable.
func (d *doctor) providerSet(ctx context.Context, opened *instance.Instance) (*instance.ProviderSet, error) {
	if opened != nil {
		set, err := opened.Providers(ctx, d.console.Getenv, d.console.Version, slog.New(slog.DiscardHandler))
		if err == nil {
			return set, nil
		}
	}
	return instance.Preview(ctx, d.loaded.Config, d.console.Getenv)
}

// providers tests all enabled providers concurrently and compares the clocks of those that responded.
func (d *doctor) providers(ctx context.Context, set *instance.ProviderSet) []finding {
	list := slices.DeleteFunc(set.Providers(), func(p adminproviders.ProviderState) bool { return !p.Enabled })
	if len(list) == 0 {
		return []finding{{"providers", broken, "no provider is enabled, so no request can be served", "set OPENAI_API_KEY, or add a provider to the configuration"}}
	}
	found, offs := make([]finding, len(list)), make([]time.Duration, len(list))
	known := make([]bool, len(list))
	var wait sync.WaitGroup
	for i := range list {
		wait.Go(func() {
			result, err := set.Test(ctx, list[i].Name)
			if err != nil {
				result.Error = err.Error()
			}
			if known[i] = !result.Clock.IsZero(); known[i] {
				offs[i] = result.Clock.Sub(d.console.Now())
			}
			found[i] = provided(&list[i], result)
		})
	}
	wait.Wait()
	return append(found, clock(list, offs, known))
}

// provided returns the finding for a provider, given the result of its test.
func provided(p *adminproviders.ProviderState, r adminproviders.ProbeResult) finding {
	check := "provider " + p.Name
	switch {
	case p.Simulated:
		return finding{check, doubt, "responses are SIMULATED: no network, no cost", "set OPENAI_API_KEY or another provider's variable, or add a provider to the configuration"}
	case r.Untested:
		return finding{check, doubt, r.Error, "test it with a cheap request"}
	case r.Status == http.StatusTooManyRequests:
		return finding{check, doubt, "the provider is rate limiting: " + r.Error, "wait, or raise the limit at the provider"}
	case !r.OK:
		text := r.Error
		if r.Status > 0 {
			text = fmt.Sprintf("status %d: %s", r.Status, text)
		}
		return finding{check, broken, text, remedy(p, r)}
	case len(p.Targets) == 0:
		return finding{check, doubt, "the provider responds, but none of its models is known", "list its models in the configuration:  providers[].models"}
	}
	text := fmt.Sprintf("responds in %s", cli.Duration(r.Latency))
	if len(p.Credentials) > 0 {
		text += ", the key is accepted"
	}
	text += ", lists " + cli.Plural(len(r.Models), "model")
	// The list may be only the first page of the provider's models, so a list with one of the targets is sufficient.
	if len(r.Models) > 0 && !slices.ContainsFunc(p.Targets, func(t adminproviders.TargetState) bool {
		return slices.Contains(r.Models, t.Target.Upstream) || slices.Contains(r.Models, t.Target.Model.Name)
	}) {
		return finding{check, doubt, text + ", but none of the configured ones", "correct the model names in the configuration:  name,  or upstream if the provider uses another name"}
	}
	return finding{check, fine, text, ""}
}

// remedy returns the fix for a failing provider.
func remedy(p *adminproviders.ProviderState, r adminproviders.ProbeResult) string {
	_, isDNS := errors.AsType[*net.DNSError](r.Cause)
	_, isTLS := errors.AsType[*tls.CertificateVerificationError](r.Cause)
	switch {
	case (r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden) && len(p.Credentials) == 0:
		return "set an API key in its environment variable, in the configuration (api_keys) or on the Providers page of the dashboard"
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		return "replace the key " + providers.Credentials(p.Credentials[:1]) + " with a valid one that may list models"
	case r.Status == http.StatusNotFound:
		return "correct base_url, which must include the version path such as /v1; it is " + p.BaseURL
	case r.Status > 0:
		return "see the provider's status page; requests go to other providers in the meantime"
	case isDNS:
		return "correct the host in base_url, or the DNS settings of this machine"
	case isTLS:
		return "correct the host in base_url, or add its certificate authority to the trusted certificates of this machine"
	}
	return "check whether a firewall or proxy blocks the connection, and whether base_url is correct"
}

// clock compares the clock of this machine with the provider clock that differs most. offs holds the clock difference of each
// provider; known reports for which providers it was measured.
func clock(list []adminproviders.ProviderState, offs []time.Duration, known []bool) finding {
	const check = "clock"
	worst := -1
	for i := range offs {
		if known[i] && (worst < 0 || offs[i].Abs() > offs[worst].Abs()) {
			worst = i
		}
	}
	if worst < 0 {
		return finding{check, fine, "no provider returned its time for comparison", ""}
	}
	off := offs[worst].Abs()
	if off <= clockOff {
		return finding{check, fine, fmt.Sprintf("within %s of the clock of %s", cli.Duration(clockOff), list[worst].Name), ""}
	}
	way := "behind"
	if offs[worst] < 0 {
		way = "ahead of"
	}
	f := finding{check, doubt, fmt.Sprintf("%s %s the clock of %s", cli.Duration(off), way, list[worst].Name), "synchronise it with NTP:  timedatectl set-ntp true"}
	if off > clockBad {
		f.Result, f.Message = broken, f.Message+"; signed calls and logins are rejected"
	}
	return f
}

// prices returns a warning if the price of a target is unknown.
func prices(providers []adminproviders.ProviderState) []finding {
	const check = "prices"
	var missing []string
	all := 0
	for _, p := range providers {
		for _, t := range p.Targets {
			if p.Simulated || !p.Enabled {
				continue
			}
			all++
			if t.Target.Price == nil {
				missing = append(missing, t.Target.ID())
			}
		}
	}
	switch {
	case all == 0:
		return nil
	case len(missing) == 0:
		return []finding{{check, fine, "known for " + cli.Plural(all, "model"), ""}}
	}
	return []finding{{
		check, doubt, fmt.Sprintf("unknown for %d of %s, so auto does not select them: %s", len(missing), cli.Plural(all, "model"), named(missing)),
		"set them in the dashboard under Models or in the configuration file, or set catalog.refresh to daily",
	}}
}

// named joins the first few names of a list and adds the number of omitted names.
func named(list []string) string {
	if len(list) <= mostNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:mostNamed], ", "), len(list)-mostNamed)
}

// keys returns a warning if no key exists or if a key of any workspace expires soon.
func (d *doctor) keys(ctx context.Context, instance *instance.Instance) finding {
	const check = "keys"
	now := d.console.Now()
	var ending []string
	active := 0
	err := instance.Store.Accounts.ChangedKeys(ctx, -1, func(k *account.Key) error {
		if adminkeys.State(k, now) != "active" {
			return nil
		}
		active++
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) < keySoon {
			ending = append(ending, fmt.Sprintf("%s on %s", k.Name, d.console.FormatTime(d.options, k.ExpiresAt, time.DateTime)))
		}
		return nil
	})
	switch {
	case err != nil:
		return finding{check, broken, "read the keys: " + err.Error(), "see the database check"}
	case active == 0:
		return finding{check, doubt, "no API key exists, so clients cannot send requests", "create one:  fairlead keys create --name ci"}
	case len(ending) > 0:
		return finding{check, doubt, fmt.Sprintf("%d of %d expire within 7 days: %s", len(ending), active, named(ending)), "extend them in the dashboard, or create new ones:  fairlead keys create"}
	}
	return finding{check, fine, cli.Plural(active, "key") + ", none expires within 7 days", ""}
}
