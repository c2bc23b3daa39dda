package provider

import "time"

// ListedModel is a model in a provider's own list.
type ListedModel struct {
	Provider  string
	Model     string // name of the model at the provider
	FirstSeen time.Time
	LastSeen  time.Time
	Missed    int64 // number of consecutive complete lists without the model
}

// Gone reports whether the provider has removed the model from its list. A model counts as removed if the last two complete lists do not
// contain it.
func (m *ListedModel) Gone() bool { return m.Missed >= 2 }
