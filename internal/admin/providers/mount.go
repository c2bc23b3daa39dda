// Package providers serves the operations for providers, credentials, models and prices.
package providers

import (
	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/requestlog"
)

// Deps are the dependencies of the operations. Credentials, Connector, Switch and Prices may be nil.
type Deps struct {
	Fleet       Fleet
	Prober      Prober
	Credentials Credentials
	Connector   Connector
	Switch      Switch
	Prices      Prices
	Market      Market
	Figures     requestlog.FigureReader
}

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerModels()
	a.registerMarket()
	a.registerProviders()
	a.registerCredentials()
	a.registerConnections()
}
