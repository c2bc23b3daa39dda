// Package playground serves the operations that send requests from the dashboard.
package playground

import "fairlead.dev/internal/admin/adminapi"

// Deps are the dependencies of the operations.
type Deps struct{ Playground Playground }

type handlers struct {
	Deps
	*adminapi.Server
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s}
	a.registerPlayground()
}
