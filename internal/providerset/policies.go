package providerset

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // policies name time zones, and containers often have no zone database

	"fairlead.dev/internal/config"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/pricebook"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/settings"
	"fairlead.dev/internal/simulator"
)

// instanceSet is the name under which decisions refer to the configuration's policies.
const instanceSet = "instance"

// Inventory returns the names that policies may use: every model, vendor and offer in the catalog, whether or not its provider is
// configured, and the models, providers, targets and tags of this instance. A rule about a provider stays valid while the provider has
// no credential.
func (f *Set) Inventory() policy.Inventory {
	canonical := func(name string) (string, bool) {
		m, ok := f.Catalog.Model(name)
		if !ok {
			return "", false
		}
		return m.Name, true
	}
	w := policy.Inventory{Canonical: canonical, Tags: []string{tagCollects, tagLocal, tagOpenWeights, tagSimulated, tagZDR}, Zone: time.LoadLocation}
	for _, m := range f.Catalog.Models() {
		w.Models = append(w.Models, m.Name)
	}
	for _, v := range vendors() {
		w.Providers = append(w.Providers, v.Name)
		for _, o := range f.Catalog.Offers(v.Name) {
			w.Targets = append(w.Targets, v.Name+"/"+o.Model)
		}
	}
	for _, p := range slices.Concat(f.Providers, f.Off) {
		w.Providers = append(w.Providers, p.Name)
		for _, t := range p.Targets {
			w.Models, w.Targets, w.Tags = append(w.Models, t.Model.Name), append(w.Targets, t.ID()), append(w.Tags, t.Tags...)
		}
	}
	for _, list := range []*[]string{&w.Models, &w.Providers, &w.Targets, &w.Tags} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return w
}

// ReadPolicies parses the policies of a configuration. It returns nil if the configuration has no policies. The error is a
// *config.Problems.
func ReadPolicies(loaded *config.Loaded, w policy.Inventory) (*policy.Set, error) {
	text := string(loaded.Config.Policies)
	if text == "" {
		return nil, nil //nolint:nilnil // the nil Set has no policies
	}
	if _, problems := policy.Parse(instanceSet, []byte(text), w); len(problems) > 0 {
		return nil, refusal(loaded, problems)
	}
	// The leading newlines only keep the line numbers of errors correct. Remove them, because a valid set is stored and
	// displayed as a separate document.
	set, problems := policy.Parse(instanceSet, []byte(strings.TrimLeft(text, "\n")), w)
	if len(problems) > 0 {
		return nil, refusal(loaded, problems)
	}
	return set, nil
}

// ReadRoutes returns the routes of a configuration. The error is a *config.Problems.
func ReadRoutes(loaded *config.Loaded, snap *route.Snapshot) ([]route.Route, error) {
	routes := settings.RoutesOf(loaded.Config)
	var problems []config.Problem
	for i := range routes {
		path := fmt.Sprintf("[%d]", i)
		if first := slices.IndexFunc(routes, func(t route.Route) bool { return t.Name == routes[i].Name }); first < i {
			problems = append(problems, config.Problem{Path: path + ".name", Message: fmt.Sprintf("duplicate route %q", routes[i].Name), Fix: "rename one of them, or merge them", Code: config.Repeated})
		}
		for _, p := range routes[i].Check(func(name string) (bool, []string) { return Known(snap, name) }) {
			problems = append(problems, config.Problem{Path: path + "." + p.Path, Message: p.Message, Suggestion: p.Suggestion, Fix: "correct the route", Code: config.BadValue})
		}
	}
	if len(problems) > 0 {
		return nil, loaded.RefuseRoutes(problems)
	}
	return routes, nil
}

// refusal returns the configuration error for policy problems.
func refusal(loaded *config.Loaded, problems []policy.Problem) error {
	list := make([]config.Problem, len(problems))
	for i, p := range problems {
		message := p.Message
		if p.Policy != "" {
			message = fmt.Sprintf("policy %q: %s", p.Policy, p.Message)
		}
		suggestion, fix := advice(p)
		list[i] = config.Problem{
			Path: p.Path, Line: p.Line, Column: p.Column, Width: p.Width,
			Message: message, Suggestion: suggestion, Fix: fix, Code: config.Code(p.Code),
		}
	}
	return loaded.Refuse(list)
}

// advice returns the name suggested by the hint of a problem, if any, and a short description of the fix. If the hint suggests no name, the
// fix contains the hint.
func advice(p policy.Problem) (suggestion, fix string) {
	what := map[policy.Code]string{
		policy.UnknownField: "correct the field", policy.UnknownName: "correct the name", policy.NoEffect: "give the policy an effect",
		policy.BadSyntax: "correct the condition", policy.UnknownVariable: "correct the condition",
		policy.WrongCondition: "correct the condition", policy.TooCostly: "correct the condition",
	}
	fix = cmp.Or(what[p.Code], "correct it")
	if word, ok := strings.CutPrefix(p.Hint, `did you mean "`); ok && strings.HasSuffix(word, `"?`) {
		return strings.TrimSuffix(word, `"?`), fix
	}
	if p.Hint != "" {
		fix += ": " + p.Hint
	}
	return "", fix
}

// Check validates the certificate and the names in a configuration. It reads no stored data. The error is a
// *config.Problems for an invalid certificate, policy or route. The warning describes suspicious settings.
func Check(ctx context.Context, loaded *config.Loaded, env func(string) string) (warning string, err error) {
	if _, err := loaded.Certificate(); err != nil {
		return "", err
	}
	withoutModels := func(p config.Provider) bool { return p.BaseURL != "" && len(p.Models) == 0 }
	if c := loaded.Config; c.Policies == "" && len(c.Routing.Routes) == 0 && c.DefaultModel == "" && !slices.ContainsFunc(c.Providers, withoutModels) {
		return "", nil
	}
	f, err := Preview(ctx, loaded.Config, env, nil)
	if err != nil {
		return "", err
	}
	if _, err = ReadPolicies(loaded, f.Inventory()); err == nil {
		_, err = ReadRoutes(loaded, f.Snapshot())
	}
	warnings := append(f.WithoutModels(), f.UnknownBaseline(loaded.Config.DefaultModel))
	warnings = slices.DeleteFunc(warnings, func(w string) bool { return w == "" })
	return strings.Join(warnings, "\n"), err
}

// WithoutModels returns a warning for each provider without models in the catalog and the configuration.
func (f *Set) WithoutModels() (warnings []string) {
	for _, p := range f.Providers {
		switch {
		case len(p.Targets) > 0 || p.Simulated:
		case p.ModelsPath == "":
			warnings = append(warnings, fmt.Sprintf("provider %q offers no models: add models to it", p.Name))
		default:
			warnings = append(warnings, fmt.Sprintf("provider %q has no models in the configuration: the gateway reads its model list from %s. Requests must name these models and need allow_unpriced; "+
				"add models with prices to route to them automatically", p.Name, p.BaseURL+p.ModelsPath))
		}
	}
	return warnings
}

// UnknownBaseline returns a warning if default_model names an unknown model, and an empty string otherwise. An unknown model is not an
// error, because it may belong to a local server that is temporarily stopped.
func (f *Set) UnknownBaseline(name string) string {
	if name == "" {
		return ""
	}
	ok, near := Known(f.Snapshot(), name)
	if ok {
		return ""
	}
	text := fmt.Sprintf("default_model: no model is called %q, so savings are unknown", name)
	if len(near) > 0 {
		text += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return text
}

// Preview builds the provider set of a configuration, without stored providers and credentials. fetch is the client for the vendors' token
// services.
func Preview(ctx context.Context, c config.Config, env func(string) string, fetch *http.Client) (*Set, error) {
	book, err := pricebook.Of(c).Read()
	if err != nil {
		return nil, err
	}
	b := Builder{Config: c, Env: env, Simulator: simulator.NewSimulator(simulator.Options{}), Book: book, Fetch: fetch}
	if c.Detect {
		b.Local = FindLocal(ctx)
	}
	return b.Assemble()
}

// Known reports whether a model is configured or in the catalog. If not, it suggests similar names.
func Known(snap *route.Snapshot, name string) (bool, []string) {
	if len(snap.Named(name)) > 0 {
		return true, nil
	}
	if _, ok := snap.Catalog.Model(name); ok {
		return true, nil
	}
	near := snap.Suggest(name)
	if len(near) == 0 {
		near = snap.Catalog.Suggest(name, 5)
	}
	return false, near
}
