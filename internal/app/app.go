// Package app builds all components of a server, starts them, and stops them in reverse order. Only the command line imports it.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/telemetry"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// Options configure a server.
type Options struct {
	Load     func() (*config.Loaded, error) // reads the configuration; called again for each reload
	Env      func(string) string
	Reload   <-chan os.Signal // channel whose signals trigger a reload
	Dev      bool
	Quiet    bool
	Terminal bool // whether Out is a terminal, which gets text instead of JSON lines
	Out      io.Writer
	Err      io.Writer
	Version  string

	DebugListen string // loopback address for profiles and runtime metrics; empty to disable them
}

// App is a running gateway. Its parts are in the order in which open creates them. Each part is declared next to the function that creates
// it.
type App struct {
	processParts
	storageParts
	webParts
	accountParts
	logParts
	providerParts
	routingParts
	limitParts
	exportParts
	comparisonParts
	alerts  alertParts
	gateway *gateway.Gateway
	taskParts
}

// processParts holds the options, the configuration and the logger of the process.
type processParts struct {
	options Options
	version string
	started time.Time
	log     *slog.Logger
	level   slog.LevelVar // current log level
	config  atomic.Pointer[config.Loaded]
}

// Run serves until ctx is cancelled, waits for running requests and stops. It returns nil after a clean shutdown.
func Run(ctx context.Context, o Options) error {
	began := time.Now()
	loaded, err := o.Load()
	if err != nil {
		return err
	}
	a := &App{processParts: processParts{options: o, version: o.Version, started: began}}
	format := loaded.Config.Log.Format
	a.log = telemetry.NewLogger(o.Err, format == "json" || (format != "text" && !o.Terminal), &a.level)
	a.setLevel(loaded.Config.Log)
	a.config.Store(loaded)
	if err := a.open(ctx); err != nil {
		return errors.Join(err, a.close())
	}
	stopDebug, err := a.serveDebug(ctx)
	if err != nil {
		return errors.Join(err, a.close())
	}
	defer stopDebug()
	setMemoryLimit(cgroupFiles)
	a.start(ctx)
	a.serve()
	if !o.Quiet {
		a.announce(time.Since(began))
	}
	a.warnBaseline()
	select {
	case <-ctx.Done():
	case err = <-a.listener.failed:
		a.listener.failed <- err // put the error back, because stop also waits for it
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
	}
	return errors.Join(err, a.stop(ctx))
}

func (a *App) warnBaseline() {
	if text := a.providers.Load().UnknownBaseline(a.loaded().Config.DefaultModel); text != "" {
		a.log.Warn("suspicious configuration", "problem", text)
	}
}

func (p *processParts) setLevel(c config.Log) {
	if level, err := telemetry.ParseLevel(c.Level); err == nil { // config rejects unknown names
		p.level.Set(level)
	}
}

func (p *processParts) loaded() *config.Loaded { return p.config.Load() }

// open builds the components, dependencies first.
func (a *App) open(ctx context.Context) error {
	c := a.loaded().Config
	if err := a.lock(c); err != nil {
		return err
	}
	if err := a.listen(ctx, c); err != nil {
		return err
	}
	if err := a.retryWhileUnreachable(ctx, func() error { return a.openStore(ctx, c) }); err != nil {
		return err
	}
	if err := a.retryWhileUnreachable(ctx, func() error { return a.openAccounts(ctx, c) }); err != nil {
		return err
	}
	if err := a.openLog(c); err != nil {
		return err
	}
	set, err := a.openProviders(ctx, c)
	if err != nil {
		return err
	}
	if err := a.openLimits(ctx, c); err != nil {
		return err
	}
	if err := a.openExport(ctx, c); err != nil {
		return err
	}
	if err := a.openRecords(ctx, c); err != nil {
		return err
	}
	a.openComparison(c, set)
	a.openAlerts()
	if err := a.openGateway(c, set); err != nil {
		return err
	}
	return a.openWeb()
}

// report logs an error from a background task that will retry. It ignores nil and cancellation.
func (p *processParts) report(doing string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		p.log.Warn("background task failed, retrying", "task", doing, "error", err.Error())
	}
}

// openGateway creates the model API from all other parts.
func (a *App) openGateway(c config.Config, f *providerset.Set) error {
	cache, err := a.cluster.responseCache(c.ResponseCache, a.master)
	if err != nil {
		return err
	}
	ids, err := responses.NewStoredIDs(a.master)
	if err != nil {
		return err
	}
	parts := gateway.Parts{
		Routes: settings.Routes(), Settings: settings.Gateway(c), Snapshot: f.Snapshot(), Health: a.health, Sessions: a.sessions,
		Access:     gateway.Access{Keys: a.keyring, Limits: a.limits, Admission: a.admission, Ledger: a.ledger},
		Dispatcher: &upstream.Dispatcher{Admission: a.health, Health: a.health, Egress: a.egress, Batches: openai.Format{}, Random: rand.Float64, SealID: ids.Seal},
		Responses:  gateway.Responses{Cache: cache, Comparer: a.comparer, Reasoning: reasoning.New()},
		StoredIDs:  ids, Objects: a.db.Batches, Owners: a.db.Batches,
		Recording: gateway.Recording{Log: a.spool, Observe: a.observe, Started: a.observeStart, Logger: a.log},
		Routing: gateway.Routing{
			Policies: a.policies, Feedback: ratings{a.feedback, a}, Prefixes: a.prefixes, Lengths: a.lengths, Pins: pins{a.accounts},
		},
	}
	if a.traces != nil {
		parts.Log, parts.Tracing = exportedLog{a.spool, a.traces}, a.traces
	}
	if a.cluster != nil {
		parts.PublishSignatures = a.post
		parts.PublishEnd = func(ctx context.Context, message string) {
			a.report("publish response end", a.cluster.client.Publish(ctx, message))
		}
	}
	a.gateway = gateway.New(parts)
	a.decisions.Gateway = a.gateway
	a.keyring.OnRevoke(a.gateway.Revoke)
	a.adopt(f)
	return nil
}

// announce prints a banner with the addresses to a terminal, or logs them.
func (a *App) announce(startup time.Duration) {
	if a.options.Terminal {
		a.printBanner(a.options.Out, startup)
		return
	}
	base, others := addresses(&a.loaded().Config, a.listener.Addr())
	a.log.Info("ready", "version", a.version, "listen", a.listener.Addr().String(), "api", base+"/proxy/v1", "dashboard", base,
		"config", a.configText(), "data", a.storeName, "providers", providersText(a.providers.Load()), "ms", startup.Milliseconds())
	if a.setupCode != "" {
		a.log.Info("no account exists, open the setup link to create the owner account", "setup", setupText(a.setupCode, base, others))
	}
}
