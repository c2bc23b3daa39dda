package gateway

import (
	"net/http"
	"time"

	"fairlead.dev/internal/route"
)

// serveModels responds with the models that the key may use. shape converts them to the client's format.
func (g *Gateway) serveModels(w http.ResponseWriter, r *http.Request, requestID string, shape func(modelOffer) (any, error)) {
	settings := g.settings.Load()
	grant, err := authenticateKey(r, settings, g.Keys, time.Now())
	if err != nil {
		g.reject(w, r, requestID, err)
		return
	}
	shown, err := shape(modelOffer{Grant: grant, Snapshot: g.snapshot.Load(), Unpriced: settings.AllowsUnpriced(grant), Routes: [][]route.Route{settings.Routes, grant.Workspace.Routes}})
	if err != nil {
		g.reject(w, r, requestID, err)
		return
	}
	writeJSON(w, r, shown)
}
