// Package app builds all components of a server, starts them, and stops them in reverse order. Only the command line imports it.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead/docs"
	"fairlead/internal/account"
	"fairlead/internal/account/factor"
	"fairlead/internal/account/keyring"
	"fairlead/internal/account/passkey"
	"fairlead/internal/admin"
	"fairlead/internal/admin/adminapi"
	"fairlead/internal/attempt"
	"fairlead/internal/budget"
	"fairlead/internal/cascade"
	"fairlead/internal/config"
	"fairlead/internal/egress"
	"fairlead/internal/explain"
	"fairlead/internal/feedback"
	"fairlead/internal/gateway"
	"fairlead/internal/health"
	"fairlead/internal/ledger"
	"fairlead/internal/length"
	"fairlead/internal/limit"
	"fairlead/internal/maintenance"
	"fairlead/internal/manual"
	"fairlead/internal/memory"
	"fairlead/internal/otlp"
	"fairlead/internal/outline"
	"fairlead/internal/policystore"
	"fairlead/internal/predict"
	"fairlead/internal/predict/ability"
	"fairlead/internal/promptcache"
	"fairlead/internal/providerset"
	"fairlead/internal/quality"
	"fairlead/internal/redaction"
	"fairlead/internal/requestlog"
	"fairlead/internal/session"
	"fairlead/internal/settings"
	"fairlead/internal/shadow"
	"fairlead/internal/signals"
	"fairlead/internal/simulator"
	"fairlead/internal/spool"
	"fairlead/internal/sso"
	"fairlead/internal/store"
	"fairlead/internal/store/logstore"
	"fairlead/internal/telemetry"
	"fairlead/internal/vault"
	"fairlead/internal/wire/chat"
	"fairlead/internal/wire/responses"
	"fairlead/web"
)

// keysOutliveStore is how long cached keys are accepted while the database is unavailable.
const keysOutliveStore = 15 * time.Minute

// Options configure a server.
type Options struct {
	Load     func() (*config.Loaded, error) // reads the configuration; called again for each reload
	Env      func(string) string
	Reload   <-chan os.Signal // triggers a reload
	Dev      bool
	Quiet    bool
	Terminal bool // whether Out is a terminal, which gets text instead of JSON lines
	Out      io.Writer
	Err      io.Writer
	Version  string
}

// App is a running gateway.
type App struct {
	options   Options
	version   string
	started   time.Time
	log       *slog.Logger
	level     slog.LevelVar // log level
	config    atomic.Pointer[config.Loaded]
	providers atomic.Pointer[providerset.Set]
	loader    *providerset.Loader

	listener, adminListener *listener
	unlock                  func() error
	master                  []byte
	db                      *store.DB
	storeName               string // path of the SQLite file, or address of the database without its password
	storeNew                bool
	spool                   *spool.Spool
	partKey                 *outline.Key   // computes the addresses of request body parts
	known                   *outline.Known // parts that the database has
	feed                    *requestlog.Feed
	redaction               *redaction.Filter
	accounts                *account.Service
	keyring                 *keyring.Ring
	vault                   *vault.Vault
	factors                 *factor.Service
	passkeys                *passkey.Service
	sso                     *sso.Service
	ssoEgress               *egress.Client // calls the identity provider
	egress                  *egress.Client
	health                  *health.Tracker
	admission               *limit.AdmissionQueue
	ledger                  ledger.Ledger
	limits                  limit.Limiter
	cluster                 *clusterParts // nil without Redis
	predictor               *predict.Predictor
	quality                 *quality.Rater
	policies                *policystore.Store
	feedback                *feedback.Index
	prefixes                promptcache.Store
	lengths                 *length.Tracker
	shared                  *promptcache.Shared // prompt prefixes shared through Redis; nil without Redis
	redis                   *redis.Client       // client of shared; nil without Redis
	maintenance             *maintenance.Tasks
	decisions               *explain.Service
	keeper                  *explain.VersionKeeper
	signals                 *signals.Collector
	gateway                 *gateway.Gateway
	shadow                  *gateway.Gateway // makes the calls of comparisons
	shadowEgress            *egress.Client   // calls providers for shadow
	comparer                *shadow.Comparer
	alerts                  alertParts
	budgets                 *budget.Service
	admin                   *adminapi.Server
	dashboard               http.Handler
	manual                  *manual.Site
	edge                    edge
	metrics                 *telemetry.Metrics
	traces                  *otlp.Exporter // nil if nothing is exported by OTLP
	catalogFailing          atomic.Bool    // whether the last read of the catalog file failed
	setupCode               string

	reloading sync.Mutex
	tasks     sync.WaitGroup
	endTasks  context.CancelFunc
}

// Run serves until ctx is cancelled, waits for running requests and stops. It returns nil after a clean shutdown.
func Run(ctx context.Context, o Options) error {
	began := time.Now()
	loaded, err := o.Load()
	if err != nil {
		return err
	}
	a := &App{options: o, version: o.Version, started: began}
	format := loaded.Config.Log.Format
	a.log = telemetry.NewLogger(o.Err, format == "json" || (format != "text" && !o.Terminal), &a.level)
	a.setLevel(loaded.Config.Log)
	a.config.Store(loaded)
	if err := a.open(ctx); err != nil {
		return errors.Join(err, a.close())
	}
	if !o.Quiet {
		a.announce(time.Since(began))
	}
	memory.SetLimit(memory.CgroupFiles)
	a.warnBaseline()
	a.start(ctx)
	select {
	case <-ctx.Done():
	case err = <-a.listener.failed:
		a.listener.failed <- err // stop also waits for this error
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

func (a *App) setLevel(c config.Log) {
	if level, err := telemetry.ParseLevel(c.Level); err == nil { // config rejects unknown names
		a.level.Set(level)
	}
}

func (a *App) loaded() *config.Loaded { return a.config.Load() }

// open builds the components, dependencies first.
func (a *App) open(ctx context.Context) error {
	c := a.loaded().Config
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	lock, err := store.Lock(c.DataDir)
	if err != nil {
		return err
	}
	a.unlock = lock
	if a.master, err = vault.LoadOrCreateMasterKey(c.DataDir, c.MasterKey); err != nil {
		return err
	}
	if err := a.listen(ctx, c); err != nil {
		return err
	}
	if err := a.openStore(ctx, c); err != nil {
		return err
	}
	if err := a.retryWhileUnreachable(ctx, func() error { return a.openAccounts(ctx, c) }); err != nil {
		return err
	}
	if err := a.openGateway(ctx, c); err != nil {
		return err
	}
	if a.admin, err = admin.New(a.adminParts()); err != nil {
		return fmt.Errorf("build admin API: %w", err)
	}
	a.manual = manual.New(docs.Files, http.HandlerFunc(a.edge.notFound))
	a.dashboard = web.Handler(a.version, http.HandlerFunc(a.edge.notFound))
	a.listener.serve(a.edge.devOnly(a.public()))
	if a.adminListener != nil {
		a.adminListener.serve(a.private())
	}
	return nil
}

func (a *App) listen(ctx context.Context, c config.Config) (err error) {
	a.edge.publicURL = settings.PublicURL(c)
	var cert *tls.Config
	pair, err := a.loaded().Certificate()
	if err != nil {
		return err
	}
	if pair != nil {
		cert = &tls.Config{Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	a.listener, err = listen(ctx, c.Listen, cert, &c, a.log, a.edge.starting(), a.edge.rejectMalformed)
	if err != nil || c.AdminListen == "" {
		return err
	}
	a.adminListener, err = listen(ctx, c.AdminListen, nil, &c, a.log, a.edge.starting(), a.edge.rejectMalformed)
	return err
}

// openStore opens the database and waits until it is reachable.
func (a *App) openStore(ctx context.Context, c config.Config) error {
	a.storeName = store.Redact(c.Store)
	if c.Store == "sqlite" {
		a.storeName = filepath.Join(c.DataDir, "fairlead.db")
		_, err := os.Stat(a.storeName)
		a.storeNew = errors.Is(err, os.ErrNotExist)
	}
	return a.retryWhileUnreachable(ctx, func() (err error) {
		if a.db, err = store.Open(ctx, c.Store, c.DataDir, store.Options{}); err == nil {
			a.db.Log.SetTextIndex(c.Log.Search)
		}
		return err
	})
}

// retryWhileUnreachable repeats a startup step while the database is unreachable. A process that is running but not ready is
// easier to operate than one that exits.
func (a *App) retryWhileUnreachable(ctx context.Context, step func() error) error {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := step()
		if err == nil || a.loaded().Config.Store == "sqlite" || !store.Unreachable(err) {
			return err
		}
		a.log.WarnContext(ctx, "database unavailable, retrying", "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

func (a *App) openAccounts(ctx context.Context, c config.Config) (err error) {
	if err := vault.Confirm(ctx, a.db, a.master); err != nil {
		return err
	}
	if a.keyring, err = keyring.New(a.db.Accounts, a.master, keyring.Options{
		Now: a.now, MaxStale: keysOutliveStore,
		Report: func(err error) { a.report("read keys", err) },
	}); err != nil {
		return err
	}
	if err := a.keyring.Load(ctx); err != nil {
		return fmt.Errorf("load keys: %w", err)
	}
	if a.vault, err = vault.New(a.db.Config, a.master, nil); err != nil {
		return err
	}
	if a.factors, err = factor.New(a.db.Accounts, a.vault, a.master, nil); err != nil {
		return err
	}
	a.passkeys = passkey.New(passkey.Parts{Store: a.db.Accounts.Passkeys(), Sealer: a.vault, Recovery: a.factors, PublicURL: c.PublicURL, Allowed: a.passwordAllowed})
	changed := func(ctx context.Context) { a.report("read keys", a.keyring.Refresh(ctx)) }
	if a.accounts, err = account.New(a.db.Accounts.Stores(), account.Options{
		MasterKey: a.master, Registration: c.Registration, Quota: settings.Quota(c.Accounts), Busy: a.shedding,
		Changed: changed, Ended: a.publishEnding, Passwords: a.passwordAllowed, SecondFactor: a.factors, Passkeys: a.passkeys,
		Recheck: func(ctx context.Context, s account.Session) error { return a.sso.Check(ctx, s) },
	}); err != nil {
		return err
	}
	a.ssoEgress = egress.New(settings.SSOEgress(c))
	if a.sso, err = sso.New(sso.Parts{
		Store: a.db.Accounts, Workspaces: a.accounts, Audit: a.db.Accounts, Sealer: a.vault, MasterKey: a.master, Do: a.ssoEgress.Do,
		Changed: changed, Ended: a.publishEnding, Log: a.log,
	}); err != nil {
		return err
	}
	a.sso.Configure(settings.SSO(c.SSO))
	if a.options.Dev {
		return a.openDev(ctx)
	}
	code, _, needed, err := a.accounts.SetupCode(ctx)
	if err != nil {
		return fmt.Errorf("create setup code: %w", err)
	}
	if needed {
		a.setupCode = code
	}
	return nil
}

// passwordAllowed reports whether an account may sign in with a password. Development mode signs in with one.
func (a *App) passwordAllowed(email string) bool {
	return a.options.Dev && email == devEmail || settings.PasswordAllowed(a.loaded().Config.SSO, email)
}

// shedding reports whether model requests are being rejected because of overload.
func (a *App) shedding() bool { return a.admission != nil && a.admission.Overloaded() }

// report logs an error from a background task that will retry. It ignores nil and cancellation.
func (a *App) report(doing string, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		a.log.Warn("background task failed, retrying", "task", doing, "error", err.Error())
	}
}

func (a *App) openGateway(ctx context.Context, c config.Config) (err error) {
	if a.partKey, err = outline.NewKey(a.master); err != nil {
		return err
	}
	a.known = outline.NewKnown()
	if a.spool, err = spool.Open(settings.SpoolDir(c), spool.Options{Limit: int64(c.Spool.Limit), Strict: c.Spool.Strict, Log: a.log, Split: a.splitRequest}); err != nil {
		return fmt.Errorf("open spool: %w", err)
	}
	a.maintenance = maintenance.New(a.db, func() logstore.Retention { return settings.Retention(a.loaded().Config.Log) }, a.report)
	a.feed = requestlog.NewFeed()
	a.redaction = redaction.New(a.keyring.Workspace, func() []string { return a.loaded().Config.Log.Redact }, a.log)
	if a.predictor, err = predict.Embedded(); err != nil {
		return fmt.Errorf("load predictor: %w", err)
	}
	a.loader = &providerset.Loader{
		Settings: a.db, Connected: a.db.Config, Vault: a.vault, Env: a.options.Env, Version: a.version, Simulator: simulator.NewSimulator(simulator.Options{Latency: 1}),
		Fitter: ability.New(a.predictor), Typical: a.predictor.Typical(), Client: func() *egress.Client { return a.egress }, Report: a.report,
	}
	a.quality = quality.New(a.loader.Fitter, a.predictor)
	if c.Detect {
		a.loader.Local = providerset.FindLocal(ctx)
	}
	var f *providerset.Set
	if err := a.retryWhileUnreachable(ctx, func() (err error) {
		if f, err = a.build(ctx, a.loaded()); err != nil {
			return err
		}
		return a.openRouting(ctx, c, f)
	}); err != nil {
		return err
	}
	a.egress = egress.New(f.EgressOptions(c))
	a.health = health.New(health.Options{Failures: c.Breaker.Failures, ProbeAfter: c.Breaker.ProbeAfter, OnHint: a.onHint})
	a.admission = &limit.AdmissionQueue{}
	a.admission.Configure(c.Limits.ShedAfter)
	if err := a.openCluster(ctx, c); err != nil {
		return err
	}
	kept, err := a.cluster.reasoningStore(a.master)
	if err != nil {
		return err
	}
	cache, err := a.cluster.responseCache(c.ResponseCache, a.master)
	if err != nil {
		return err
	}
	a.metrics = telemetry.NewMetrics(telemetry.Build{Version: a.version}, a.gauges())
	if err := a.openExport(ctx, c); err != nil {
		return err
	}
	ids, err := responses.NewStoredIDs(a.master)
	if err != nil {
		return err
	}
	sessions, err := session.NewNamer(a.master)
	if err != nil {
		return err
	}
	a.openComparison(c, f)
	a.budgets = a.budgetService(sessions)
	a.openAlerts(c)
	parts := gateway.Parts{
		Routes: settings.Routes(), Settings: settings.Gateway(c), Snapshot: f.Snapshot(), Health: a.health, Sessions: sessions,
		Access:     gateway.Access{Keys: a.keyring, Limits: a.limits, Admission: a.admission, Ledger: a.ledger},
		Dispatcher: &attempt.Dispatcher{Admission: a.health, Health: a.health, Egress: a.egress, Batches: chat.Format{}, Draw: rand.Float64, SealID: ids.Seal},
		Responses:  gateway.Responses{Cache: cache, Checker: cascade.New(a.shadowEgress), Comparer: a.comparer, Reasoning: kept},
		StoredIDs:  ids, Objects: a.db.Batches,
		Recording: gateway.Recording{Log: a.spool, Observe: a.observe, Started: a.observeStart, Logger: a.log},
		Routing: gateway.Routing{
			Predictor: a.predictor, Policies: a.policies, Feedback: ratings{a.feedback, a}, Prefixes: a.prefixes, Lengths: a.lengths, Pins: pins{a.accounts}, Draw: rand.Float64,
		},
	}
	if a.traces != nil {
		parts.Log, parts.Tracing = exportedLog{a.spool, a.traces}, a.traces
	}
	a.gateway = gateway.New(parts)
	a.decisions.Gateway = a.gateway
	a.keyring.OnRevoke(a.gateway.Revoke)
	a.adopt(f)
	return nil
}

// adopt makes a provider set active.
func (a *App) adopt(f *providerset.Set) {
	a.providers.Store(f)
	var providers, models []string
	for _, t := range f.Snapshot().Targets() {
		providers, models = append(providers, t.Provider), append(models, t.Model.Name)
	}
	a.metrics.SetNames(providers, models)
}

// build loads the provider set and the instance policies of a configuration.
func (a *App) build(ctx context.Context, loaded *config.Loaded) (*providerset.Set, error) {
	set, err := a.loader.Load(ctx, loaded.Config)
	if err != nil {
		return nil, err
	}
	set.Policies, err = a.instancePolicies(loaded, set)
	return set, err
}

// announce prints a banner with the addresses to a terminal, or logs them.
func (a *App) announce(took time.Duration) {
	if a.options.Terminal {
		a.printBanner(a.options.Out, took)
		return
	}
	base, others := addresses(&a.loaded().Config, a.listener.Addr())
	a.log.Info("ready", "version", a.version, "listen", a.listener.Addr().String(), "api", base+"/proxy/v1", "dashboard", base,
		"config", a.configText(), "data", a.storeName, "providers", providersText(a.providers.Load()), "ms", took.Milliseconds())
	if a.setupCode != "" {
		a.log.Info("no account exists, open the setup link to create the owner account", "setup", setupText(a.setupCode, base, others))
	}
}
