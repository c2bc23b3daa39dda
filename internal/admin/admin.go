// Package admin assembles the admin API under /api, which serves the dashboard and the command line. Each resource group has
// its own package.
package admin

import (
	"fairlead.dev/internal/admin/accounts"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/alerts"
	"fairlead.dev/internal/admin/budgets"
	"fairlead.dev/internal/admin/comparison"
	"fairlead.dev/internal/admin/keys"
	"fairlead.dev/internal/admin/outcomes"
	"fairlead.dev/internal/admin/overview"
	"fairlead.dev/internal/admin/playground"
	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/admin/proofs"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/reports"
	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/admin/routes"
	"fairlead.dev/internal/admin/workspaces"
)

// Parts are the dependencies of the admin API.
type Parts struct {
	Server adminapi.Options
	Access
	Requests   requests.Deps
	Overview   overview.Deps
	Providers  providers.Deps
	Policies   policies.Deps
	Routes     routes.Deps
	Playground playground.Deps
	Proofs     proofs.Deps
	Comparison comparison.Deps
	Alerts     alerts.Deps
	Budgets    budgets.Deps
	Reports    reports.Deps
	Outcomes   outcomes.Deps
}

// Access holds the dependencies that manage accounts, workspaces and keys.
type Access struct {
	Accounts   accounts.Deps
	Workspaces workspaces.Deps
	Keys       keys.Deps
}

// New returns the admin API.
func New(p Parts) (*adminapi.Server, error) {
	return adminapi.New(p.Server, func(s *adminapi.Server) {
		accounts.Mount(s, p.Accounts)
		workspaces.Mount(s, p.Workspaces)
		keys.Mount(s, p.Keys)
		requests.Mount(s, p.Requests)
		overview.Mount(s, p.Overview)
		providers.Mount(s, p.Providers)
		policies.Mount(s, p.Policies)
		routes.Mount(s, p.Routes)
		playground.Mount(s, p.Playground)
		proofs.Mount(s, p.Proofs)
		comparison.Mount(s, p.Comparison)
		alerts.Mount(s, p.Alerts)
		budgets.Mount(s, p.Budgets)
		reports.Mount(s, p.Reports)
		outcomes.Mount(s, p.Outcomes)
	})
}

// OpenAPI returns the OpenAPI document of the admin API, as stored in docs/openapi.json.
func OpenAPI() ([]byte, error) {
	s, err := New(Parts{})
	if err != nil {
		return nil, err
	}
	return s.OpenAPI()
}
