// Package policies serves the policy operations: editing, versions, explanations and backtests.
package policies

import (
	"context"
	"reflect"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Policies   Policies
	Versions   Versions
	Explainer  Explainer
	Backtester Backtester
	Requests   requestlog.Reader
	Figures    requestlog.FigureReader
	Keys       Keys
	Labels     Labels
	ReadOnly   func() string // returns why policies cannot be saved; empty if they can
	ConfigFile func() string // returns the path of the configuration file; empty if there is none
}

type handlers struct {
	Deps
	*adminapi.Server
	backtests *backtests
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s, backtests: &backtests{jobs: map[string][]*backtest{}}}
	s.OnClose(a.backtests.close)
	s.DocumentAs(reflect.TypeFor[replay.Report](), reflect.TypeFor[BacktestReport]())
	a.registerExplain()
	a.registerPolicies()
	a.registerPolicyVersions()
	a.registerPolicyTrial()
	a.registerPolicyTraffic()
	a.registerBacktests()
}

// Policies returns the active policies.
type Policies interface {
	// Instance returns the policies that apply to every workspace, or nil.
	Instance() *policy.Set
	// Own returns the active policies of a workspace, or nil.
	Own(workspaceID string) *policy.Set
	// Inventory returns the names that policies can refer to.
	Inventory() policy.Inventory
	// Problems lists the problems of a workspace's policies that are not fully active because they refer to removed names.
	Problems(workspaceID string) []policy.Problem
}

// Versions stores the policies of workspaces.
type Versions interface {
	// Save makes source the newest version, or returns its problems. It returns policystore.ErrConflict if basedOn is not
	// the newest version. A source that is already active creates no new version.
	Save(ctx context.Context, workspaceID, source string, basedOn int64, note, by string) (policystore.Version, []policy.Problem, error)
	// Versions lists the versions of a workspace, newest first, without their source.
	Versions(ctx context.Context, workspaceID string) ([]policystore.Version, error)
	// Version returns a version, or the newest one for number 0. It returns policystore.ErrNotFound if there is none.
	Version(ctx context.Context, workspaceID string, number int64) (policystore.Version, error)
}

// Backtester recomputes the routing decisions of logged requests. It calls no provider and stores nothing.
type Backtester interface {
	// Backtest reports progress to onProgress, which may be nil. It stops when ctx is cancelled.
	Backtest(ctx context.Context, q BacktestQuery, onProgress func(replay.Progress)) (*replay.Report, error)
}

// Labels looks up display names.
type Labels interface {
	// Labels maps IDs of accounts and keys to display names. Unknown IDs are omitted.
	Labels(ctx context.Context, c *adminapi.Call, ids []string) (map[string]string, error)
}

// Keys looks up API keys.
type Keys interface {
	Key(ctx context.Context, workspaceID, keyID string) (account.Key, error)
}
