package openai

// Model is one entry of the model list.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// NewModel returns the entry of a simulated model.
func NewModel(name string) Model {
	return Model{ID: name, Object: "model", Created: 1_790_000_000, OwnedBy: "simulated"}
}
