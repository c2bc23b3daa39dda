package gateway

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
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

// modelOffer contains the inputs of a model list.
type modelOffer struct {
	Grant    *account.Grant
	Snapshot *route.Snapshot
	Unpriced bool // whether to list models without a price
	Routes   [][]route.Route
}

// List returns the models that the key may use, starting with the variants of auto and of the other routes, in OpenAI's or Anthropic's format.
func (o modelOffer) List(r *http.Request) (any, error) {
	models := o.models(o.Snapshot.Targets())
	if wantsAnthropic(r) {
		return pageForAnthropic(models, r.URL.Query())
	}
	return struct {
		Object string      `json:"object"`
		Data   []modelInfo `json:"data"`
	}{"list", models}, nil
}

// Show returns one model. Its name may contain slashes.
func (o modelOffer) Show(r *http.Request, name string) (any, error) {
	model, err := o.find(name)
	if err != nil {
		return nil, err
	}
	if wantsAnthropic(r) {
		return describeForAnthropic(model), nil
	}
	return model, nil
}

// find returns the model with the given name if the key may use it. The ID in the result is the given name, even if it is an alias.
func (o modelOffer) find(name string) (modelInfo, error) {
	canonical, _, ok := o.Snapshot.Resolve(name, o.Routes...)
	if !ok {
		canonical = o.Snapshot.Canonical(name)
	}
	models := o.models(o.Snapshot.Named(name)) // for provider/model, Named returns only this provider's targets
	i := slices.IndexFunc(models, func(m modelInfo) bool { return m.ID == canonical })
	if i < 0 {
		e := llm.Errorf(llm.ModelNotFound, "Model %q is not available for this key. GET %s/models lists the available models.", show.Shorten(name), Prefix)
		var names []string
		for _, m := range o.models(o.Snapshot.Targets()) {
			names = append(names, m.ID)
		}
		return modelInfo{}, e.With("suggestions", catalog.Nearest(name, names, 5))
	}
	models[i].ID = name
	return models[i], nil
}

// models returns the variants of the routes and the models of the given targets that the key may use.
func (o modelOffer) models(targets []*provider.Target) []modelInfo {
	models := []modelInfo{}
	for _, name := range route.Names(o.Routes...) {
		models = append(models, o.describeRoute(name))
	}
	for _, t := range targets {
		if !route.Allowed(o.Grant.Key.AllowedModels, t) || t.NamedOnly() && !o.Unpriced {
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
	for _, t := range o.Snapshot.Targets() {
		newest = max(newest, released(t.Model))
	}
	if newest == 0 { // clients display the date, so every model needs one
		newest = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	for i := range models {
		if models[i].Created == 0 { // auto, or a model whose release date is unknown
			models[i].Created = newest
		}
	}
	return models
}

// describeRoute returns a variant of a route as a model. Its limits are the smallest of the pool, which hold for every choice. Its abilities
// are those that any of its models has, because a request that needs an ability goes to a model that has it.
func (o modelOffer) describeRoute(name string) modelInfo {
	info := modelInfo{ID: name, Object: "model", OwnedBy: "fairlead", Kind: "auto"}
	base, _, _ := strings.Cut(name, ":")
	pool, listed := o.Snapshot.Pool().Models, false
	if definition := route.FindRoute(base, o.Routes...); definition != nil && len(definition.Pool) > 0 {
		pool, listed = definition.Pool, true
	}
	var abilities llm.Abilities
	var others modelInfo // limits of all models, for an account that offers none of the pool
	for _, t := range o.Snapshot.Targets() {
		inPool := slices.Contains(pool, t.Model.Name)
		if t.Model.Op != llm.Chat || t.Price == nil || listed && !inPool || !route.Allowed(o.Grant.Key.AllowedModels, t) {
			continue
		}
		abilities |= t.Model.Abilities
		limits := &others
		if inPool {
			limits = &info
		}
		limits.Context, limits.MaxOutput = smallest(limits.Context, t.Model.Context), smallest(limits.MaxOutput, t.Model.MaxOutput)
	}
	if info.Context == 0 {
		info.Context, info.MaxOutput = others.Context, others.MaxOutput
	}
	info.Abilities = abilities.Names()
	return info
}

// smallest returns the smaller of two limits, of which 0 is unknown.
func smallest(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// released returns the release date of a model, or 0 if it is unknown. The catalog contains the date as a day, a month or a year.
func released(m *catalog.Model) int64 {
	for _, layout := range []string{time.DateOnly, "2006-01", "2006"} {
		if date, err := time.Parse(layout, m.Released); err == nil {
			return date.Unix()
		}
	}
	return 0
}
