package provider

import "time"

// ListedModel is a model in a provider's own list.
type ListedModel struct {
	Provider  string
	Model     string // the provider's name for the model
	FirstSeen time.Time
	LastSeen  time.Time
	Missed    int64 // number of consecutive complete lists without the model
}

// Gone reports whether the provider has removed the model from its list, that is, whether the last two complete lists do
// not contain the model.
func (m *ListedModel) Gone() bool { return m.Missed >= 2 }
