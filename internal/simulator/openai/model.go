package openai

type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func NewModel(name string) Model {
	return Model{ID: name, Object: "model", Created: 1_790_000_000, OwnedBy: "simulated"}
}
