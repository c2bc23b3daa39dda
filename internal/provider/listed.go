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

// Gone reports whether the provider no longer lists the model, that is, whether two consecutive complete lists do not
// contain it.
func (m *ListedModel) Gone() bool { return m.Missed >= 2 }
