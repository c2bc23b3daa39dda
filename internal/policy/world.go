package policy

import (
	"errors"
	"slices"
	"strings"
	"time"

	"fairlead/internal/spelling"
)

// World says what exists. A policy that names something else is refused.
type World struct {
	Models    []string                                  // canonical names
	Canonical func(name string) (model string, ok bool) // of a model named in another way; nil knows the names in Models only
	Providers []string                                  // configured ones
	Targets   []string                                  // provider/model, canonical
	Tags      []string                                  // of providers and targets
	Zone      func(name string) (*time.Location, error) // such as time.LoadLocation; nil knows UTC only
	// Open takes every name. It is for policies that were checked when they were saved: what they name may be gone, and
	// the others must go on working.
	Open bool
}

var errNoZone = errors.New("no such time zone")

func (w *World) zone(name string) (*time.Location, error) {
	switch {
	case w.Zone != nil:
		return w.Zone(name)
	case name == "UTC":
		return time.UTC, nil
	}
	return nil, errNoZone
}

// model returns the canonical name of a model.
func (w *World) model(name string) (string, bool) {
	if slices.Contains(w.Models, name) {
		return name, true
	}
	if w.Canonical != nil {
		if model, ok := w.Canonical(name); ok {
			return model, true
		}
	}
	return name, w.Open
}

// target returns the canonical name of a model or of provider/model.
func (w *World) target(name string) (string, bool) {
	if slices.Contains(w.Targets, name) {
		return name, true
	}
	before, after, found := strings.Cut(name, "/")
	if model, ok := w.model(after); found && ok && slices.Contains(w.Providers, before) {
		full := before + "/" + model
		if w.Open || slices.Contains(w.Targets, full) {
			return full, true
		}
		return name, false // the provider does not offer it, though the model is known
	}
	return w.model(name)
}

// models checks a pattern of models or targets, and makes an exact name canonical.
func (w *World) models(pattern string) (string, bool) {
	if !strings.HasSuffix(pattern, "*") {
		return w.target(pattern)
	}
	matches := func(name string) bool { return Pattern(pattern).Match(name) }
	return pattern, w.Open || slices.ContainsFunc(w.Models, matches) || slices.ContainsFunc(w.Targets, matches)
}

// named checks a pattern against a list of names.
func (w *World) named(pattern string, names []string) bool {
	return w.Open || slices.ContainsFunc(names, Pattern(pattern).Match)
}

// nearest guesses which name was meant.
func nearest(name string, lists ...[]string) string {
	stem, star := strings.CutSuffix(name, "*")
	near := spelling.Closest(stem, slices.Concat(lists...))
	if near == "" || !star {
		return didYouMean(near)
	}
	return "the nearest name is " + near
}
