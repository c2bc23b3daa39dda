// Package playground serves the operations that send requests from the dashboard.
package playground

import "fairlead.dev/internal/admin/adminapi"

// Deps are the dependencies of the operations. Samples may be nil.
type Deps struct {
	Playground Playground
	Samples    Samples
}

type handlers struct {
	Deps
	*adminapi.Server
	sampling chan struct{} // holds one value while sample traffic is created
}

// Mount registers the operations.
func Mount(s *adminapi.Server, d Deps) {
	a := &handlers{Deps: d, Server: s, sampling: make(chan struct{}, 1)}
	a.registerPlayground()
	a.registerSamples()
}
