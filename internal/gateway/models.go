package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/route"
)

// modelInfo is a model as clients of the format list it; members beyond the first four are ours.
type modelInfo struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"`
	Created   int64    `json:"created"`
	OwnedBy   string   `json:"owned_by"`
	Kind      string   `json:"kind"`
	Context   int64    `json:"context_window,omitempty"`
	MaxOutput int64    `json:"max_output_tokens,omitempty"`
	Abilities []string `json:"abilities,omitempty"`
	Providers []string `json:"providers,omitempty"`
}

// listModels lists what the key may use: the ways to say auto first.
func (g *Gateway) listModels(w http.ResponseWriter, r *http.Request, requestID string) {
	grant, err := g.reader(r)
	if err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	writeJSON(w, r, struct {
		Object string      `json:"object"`
		Data   []modelInfo `json:"data"`
	}{"list", g.offered(grant, g.snapshot.Load().Targets())})
}

// showModel shows one model; its name may hold slashes.
func (g *Gateway) showModel(w http.ResponseWriter, r *http.Request, requestID, name string) {
	grant, err := g.reader(r)
	if err != nil {
		g.refuse(w, r, requestID, err)
		return
	}
	snap := g.snapshot.Load()
	canonical := route.AsAuto(name)
	if !route.IsAuto(canonical) {
		canonical = snap.Canonical(name)
	}
	models := g.offered(grant, snap.Named(name)) // of one provider, where the name says which
	i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == canonical })
	if i < 0 {
		e := llm.Errorf(llm.ModelNotFound, "Model %q is not on offer for this key. GET %s/models lists what is.", shorten(name), Prefix)
		g.refuse(w, r, requestID, e.With("suggestions", nearest(g.offered(grant, snap.Targets()), name)))
		return
	}
	models[i].ID = name
	writeJSON(w, r, models[i])
}

// nearest are the names of what is on offer that are near to a name.
func nearest(models []modelInfo, name string) []string {
	names := make([]string, 0, len(models))
	for i := range models {
		names = append(names, models[i].ID)
	}
	return catalog.Nearest(name, names, 5)
}

// reader authenticates a call that lists models.
func (g *Gateway) reader(r *http.Request) (*account.Grant, error) {
	x := &exchange{r: r, settings: g.settings.Load()}
	if err := g.admitOrigin(x); err != nil {
		return nil, err
	}
	grant, err := g.Keys.Authenticate(r.Header)
	if err != nil {
		return nil, err
	}
	g.Keys.Touch(grant.Key.ID, shorten(r.UserAgent()), time.Now())
	return grant, nil
}

// offered returns the names of auto, and the models of the targets that the key may use.
func (g *Gateway) offered(grant *account.Grant, targets []*provider.Target) []modelInfo {
	models := []modelInfo{}
	for _, name := range []string{"auto", "auto:cost", "auto:quality", "auto:speed"} {
		models = append(models, modelInfo{ID: name, Object: "model", OwnedBy: "fairlead", Kind: "auto"})
	}
	for _, t := range targets {
		if !route.Allowed(grant.Key.AllowedModels, t) || t.NamedOnly() && !g.settings.Load().allowsUnpriced(grant) {
			continue
		}
		i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == t.Model.Name })
		if i >= 0 {
			models[i].Providers = append(models[i].Providers, t.Provider)
			continue
		}
		models = append(models, describeModel(t))
	}
	return models
}

func describeModel(t *provider.Target) modelInfo {
	m := t.Model
	info := modelInfo{
		ID: m.Name, Object: "model", OwnedBy: m.Vendor, Kind: string(m.Op), Context: m.Context, MaxOutput: m.MaxOutput,
		Abilities: m.Abilities.Names(), Providers: []string{t.Provider},
	}
	if released, err := time.Parse(time.DateOnly, m.Released); err == nil {
		info.Created = released.Unix()
	}
	if info.OwnedBy == "" {
		info.OwnedBy = t.Provider
	}
	return info
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeError(w, llm.AsError(err), llm.AsError(err).Body(w.Header().Get("X-Request-Id")))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that left needs no answer
	}
}
