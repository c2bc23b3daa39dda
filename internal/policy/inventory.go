package policy

import (
	"errors"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// Inventory lists the models, providers, targets and tags that policies may refer to. A policy that refers to another name is rejected,
// unless AllowUnknown is set.
type Inventory struct {
	Models    []string                                  // canonical model names
	Canonical func(name string) (model string, ok bool) // returns the model for an alias; if nil, aliases are rejected
	Providers []string                                  // names of the configured providers
	Targets   []string                                  // canonical names of the form provider/model
	Tags      []string                                  // tags of providers and targets
	Zone      func(name string) (*time.Location, error) // loads a time zone, for example time.LoadLocation; if nil, only UTC is accepted
	// AllowUnknown accepts names that are not in the inventory. It is used for saved policies, which were checked when they were saved: if a
	// model or a provider is removed later, a reference to it must not disable restrictions or other policies.
	AllowUnknown bool
}

func (w *Inventory) zone(name string) (*time.Location, error) {
	switch {
	case w.Zone != nil:
		return w.Zone(name)
	case name == "UTC":
		return time.UTC, nil
	}
	return nil, errors.New("unknown time zone")
}

// model returns the canonical name of a model.
func (w *Inventory) model(name string) (string, bool) {
	if slices.Contains(w.Models, name) {
		return name, true
	}
	if w.Canonical != nil {
		if model, ok := w.Canonical(name); ok {
			return model, true
		}
	}
	return name, w.AllowUnknown
}

// target returns the canonical name of a model or of provider/model.
func (w *Inventory) target(name string) (string, bool) {
	if slices.Contains(w.Targets, name) {
		return name, true
	}
	before, after, found := strings.Cut(name, "/")
	if model, ok := w.model(after); found && ok && slices.Contains(w.Providers, before) {
		full := before + "/" + model
		if w.AllowUnknown || slices.Contains(w.Targets, full) {
			return full, true
		}
		return name, false // the provider does not offer this model
	}
	return w.model(name)
}

// models reports whether a pattern matches a model or target. It returns the pattern, or the canonical form of an exact name.
func (w *Inventory) models(pattern string) (string, bool) {
	if !strings.HasSuffix(pattern, "*") {
		return w.target(pattern)
	}
	matches := func(name string) bool { return Pattern(pattern).Match(name) }
	return pattern, w.AllowUnknown || slices.ContainsFunc(w.Models, matches) || slices.ContainsFunc(w.Targets, matches)
}

// nearest returns a hint with the closest name, or an empty string.
func nearest(name string, lists ...[]string) string {
	stem, star := strings.CutSuffix(name, "*")
	near := spelling.Closest(stem, slices.Concat(lists...))
	if near == "" || !star {
		return document.DidYouMean(near)
	}
	return "the closest name is " + near
}
