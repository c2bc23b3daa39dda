// Package overview serves the statistics of a period, the items that need attention, and the settings of the instance.
package overview

import (
	"context"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/admin/providers"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/alert"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Requests requestlog.Reader
	Figures  requestlog.FigureReader
	Keys     Keys
	Spending spending.Reader
	Fleet    providers.Fleet
	Instance Instance
	Alerts   Alerts
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerRequestFigures()
	a.registerOverview()
	a.registerAttention()
	a.registerSettings()
}

// Alerts lists firing alerts.
type Alerts interface {
	Firing(ctx context.Context, workspaceID string) ([]alert.Alert, error)
}

// Keys lists API keys.
type Keys interface {
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
}
