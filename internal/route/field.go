package route

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// IsAuto reports whether a model name leaves the choice to the router.
func IsAuto(name string) bool { return name == "auto" || strings.HasPrefix(name, "auto:") }

// AsAuto writes auto and its objectives as we do, since names of models are heard in any case. Other names come back as they are.
func AsAuto(name string) string {
	if lower := strings.ToLower(name); IsAuto(lower) {
		return lower
	}
	return name
}

// enter collects the targets that the request's model names mean. A pin stands in for what the caller asked for.
func (r *race) enter() error {
	if pin := r.rules.pin(); pin != "" {
		return r.enterNamed([]string{pin}, false)
	}
	if IsAuto(r.in.Model) && len(r.in.Controls.Models) == 0 {
		return r.enterAll()
	}
	names := r.in.Controls.Models
	if !IsAuto(r.in.Model) {
		names = append([]string{r.in.Model}, names...)
	}
	return r.enterNamed(names, IsAuto(r.in.Model))
}

func (r *race) enterAll() error {
	r.field = slices.Grow(r.field, len(r.snap.seats))
	cards := r.snap.cardsAt(r.in.At)
	for i := range r.snap.seats {
		if seat := &r.snap.seats[i]; seat.target.Serves(r.in.Op) && !seat.target.NamedOnly() {
			r.add(seat, &cards[i], 0, false)
		}
	}
	if len(r.field) == 0 {
		return llm.Errorf(llm.NoRoute, "No configured provider offers a model for %s. Add a provider, or a model to one, in the configuration.", r.in.Op).
			With("excluded", []string{})
	}
	return nil
}

// enterNamed collects the targets of the names in order. With auto in front the names only bound the choice: their order means
// nothing, and it is enough to know one of them.
func (r *race) enterNamed(names []string, bounded bool) error {
	for i, name := range names {
		targets := r.snap.Named(name)
		if len(targets) == 0 && i == 0 && !bounded {
			return notFound(r.snap, name)
		}
		place := i
		if bounded {
			place = 0
		}
		for _, t := range targets {
			if !slices.ContainsFunc(r.field, func(one runner) bool { return one.target == t }) {
				seat, card := r.snap.newSeat(t), newCard(t, r.in.At)
				r.add(&seat, &card, place, true)
				r.field[len(r.field)-1].trusted = !bounded
			}
		}
	}
	if len(r.field) == 0 {
		return notFound(r.snap, names[0])
	}
	return nil
}

func (r *race) add(s *seat, c *card, place int, named bool) {
	t := s.target
	r.field = append(r.field, runner{
		Candidate: Candidate{Target: s.id, Model: t.Model.Name, Provider: t.Provider},
		seat:      s, target: t, model: s.model, card: c, place: place, named: named,
		wish:  wished(r.in, t),
		liked: r.rules.liking(t),
	})
}

// wished is the place of the target's provider in provider.order; unlisted ones come after all listed ones.
func wished(in *Input, t *provider.Target) int {
	order := in.Controls.Provider.Order
	if i := slices.Index(order, t.Provider); i >= 0 {
		return i
	}
	return len(order)
}

func notFound(snap *Snapshot, name string) error {
	near := snap.Suggest(name)
	hint := "GET /proxy/v1/models lists what is on offer."
	if len(near) > 0 {
		hint = fmt.Sprintf("Did you mean %q? ", near[0]) + hint
	}
	shown := name
	if len(shown) > 80 {
		shown = strings.ToValidUTF8(shown[:80], "") + "…"
	}
	what := "is not known"
	if _, known := snap.Catalog.Model(name); known {
		what = "is known, but no configured provider offers it"
	}
	e := llm.Errorf(llm.ModelNotFound, "Model %q %s. %s", shown, what, hint).With("suggestions", near)
	e.Param = "model"
	return e
}
