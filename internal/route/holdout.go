package route

import "slices"

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
	if h == nil || h.Share <= 0 || !IsAuto(r.in.Model) {
		return ""
	}
	if r.discards > 0 {
		return "" // another model could not read the reasoning of the tool loop
	}
	if !slices.ContainsFunc(r.ready, func(cand *candidate) bool { return cand.Model == h.Model }) {
		return ""
	}
	if h.Draw >= h.Share || r.ready[0].Model == h.Model {
		return ""
	}
	routed := r.ready[0].Target
	front := make([]*candidate, 0, len(r.ready))
	rest := make([]*candidate, 0, len(r.ready))
	for _, cand := range r.ready {
		if cand.Model == h.Model {
			front = append(front, cand)
		} else {
			rest = append(rest, cand)
		}
	}
	r.ready = slices.Concat(front, rest)
	return routed
}
