package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/modelapi"
	"fairlead/internal/provider"
	"fairlead/internal/route"
	"fairlead/internal/wire/show"
)

// modelInfo is a model in the OpenAI list format. The fields after OwnedBy are extensions.
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

// listModels lists the models that the key may use, starting with the variants of auto, in OpenAI's shape or in Anthropic's.
func (g *Gateway) listModels(w http.ResponseWriter, r *http.Request, requestID string) {
	grant, err := g.authenticateReader(r)
	if err != nil {
		g.reject(w, r, requestID, err)
		return
	}
	models := g.offered(grant, g.snapshot.Load().Targets())
	if wantsAnthropicModels(r) {
		page, err := pageForAnthropic(models, r.URL.Query())
		if err != nil {
			g.reject(w, r, requestID, err)
			return
		}
		modelapi.WriteJSON(w, r, page)
		return
	}
	modelapi.WriteJSON(w, r, struct {
		Object string      `json:"object"`
		Data   []modelInfo `json:"data"`
	}{"list", models})
}

// showModel returns one model. Its name may contain slashes.
func (g *Gateway) showModel(w http.ResponseWriter, r *http.Request, requestID, name string) {
	model, err := g.findModel(r, name)
	switch {
	case err != nil:
		g.reject(w, r, requestID, err)
	case wantsAnthropicModels(r):
		modelapi.WriteJSON(w, r, describeForAnthropic(model))
	default:
		modelapi.WriteJSON(w, r, model)
	}
}

// findModel returns a model that the key of the request may use, under the requested name.
func (g *Gateway) findModel(r *http.Request, name string) (modelInfo, error) {
	grant, err := g.authenticateReader(r)
	if err != nil {
		return modelInfo{}, err
	}
	snap := g.snapshot.Load()
	canonical := route.AsAuto(name)
	if !route.IsAuto(canonical) {
		canonical = snap.Canonical(name)
	}
	models := g.offered(grant, snap.Named(name)) // only one provider's targets when the name includes the provider
	i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == canonical })
	if i < 0 {
		e := llm.Errorf(llm.ModelNotFound, "Model %q is not available for this key. GET %s/models lists the available models.", show.Shorten(name), Prefix)
		var names []string
		for _, m := range g.offered(grant, snap.Targets()) {
			names = append(names, m.ID)
		}
		return modelInfo{}, e.With("suggestions", catalog.Nearest(name, names, 5))
	}
	models[i].ID = name
	return models[i], nil
}

// authenticateReader authenticates a call that lists models.
func (g *Gateway) authenticateReader(r *http.Request) (*account.Grant, error) {
	return modelapi.AuthenticateReader(r, g.settings.Load(), g.Keys, time.Now())
}

// offered returns the variants of auto and the models that the key may use at the targets.
func (g *Gateway) offered(grant *account.Grant, targets []*provider.Target) []modelInfo {
	models := []modelInfo{}
	for _, name := range []string{"auto", "auto:cost", "auto:quality", "auto:speed"} {
		models = append(models, modelInfo{ID: name, Object: "model", OwnedBy: "fairlead", Kind: "auto"})
	}
	for _, t := range targets {
		if !route.Allowed(grant.Key.AllowedModels, t) || t.NamedOnly() && !g.settings.Load().AllowsUnpriced(grant) {
			continue
		}
		i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == t.Model.Name })
		if i >= 0 {
			models[i].Providers = append(models[i].Providers, t.Provider)
			continue
		}
		m := t.Model
		models = append(models, modelInfo{
			ID: m.Name, Object: "model", OwnedBy: cmp.Or(m.Vendor, t.Provider), Kind: string(m.Op), Context: m.Context, MaxOutput: m.MaxOutput,
			Abilities: m.Abilities.Names(), Providers: []string{t.Provider}, Created: released(m),
		})
	}
	newest := int64(0)
	for _, t := range g.snapshot.Load().Targets() {
		newest = max(newest, released(t.Model))
	}
	if newest == 0 { // clients show the date and expect one
		newest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	for i := range models {
		if models[i].Created == 0 { // auto, or a model whose release date is unknown
			models[i].Created = newest
		}
	}
	return models
}

// released returns the release date of a model, which the catalog has as a day, a month or a year; 0 when unknown.
func released(m *catalog.Model) int64 {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if date, err := time.Parse(layout, m.Released); err == nil {
			return date.Unix()
		}
	}
	return 0
}
