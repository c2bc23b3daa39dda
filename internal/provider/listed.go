package provider

import "time"

// ListedModel is a model in a provider's own list.
type ListedModel struct {
	Provider  string
	Model     string // the provider's name of the model
	FirstSeen time.Time
	LastSeen  time.Time
	Missed    int64 // complete lists in a row that lack the model
}

// Gone reports whether the provider no longer lists the model: two complete lists in a row lack it.
func (m *ListedModel) Gone() bool { return m.Missed >= 2 }
