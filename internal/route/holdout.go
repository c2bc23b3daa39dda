package route

// Holdout configures serving a share of routed requests with a baseline model, in order to compare it with the router's choice. The
// baseline is selected if Draw is below Share.
type Holdout struct {
	Model string  `json:"model"` // canonical name of the baseline
	Share float64 `json:"share"`
	Draw  float64 `json:"draw"`
}

// holdOut moves the baseline model to the front if the request is held out. It returns the target that the router would have used, or an
// empty string if the request is not held out.
func (r *ranking) holdOut() string {
	h := r.in.Holdout
	if h == nil || h.Draw >= h.Share || !r.in.Routed() || r.in.Conversation.Loop || r.ready[0].Model == h.Model {
		return "" // a model that joins a tool loop could not read its reasoning
	}
	routed := r.ready[0].Target
	if !r.moveToFront(h.Model) {
		return ""
	}
	return routed
}
