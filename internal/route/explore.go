package route

import "slices"

// dearestDraw is how many times the best choice's cost an explored model may cost.
const dearestDraw = 4

// explore takes another model than the best for a share of requests, where the operator wants that: ratings of what is
// never chosen cannot be had otherwise. Every model that might have been drawn gets the chance it had.
func (r *race) explore() bool {
	if r.in.Explore <= 0 || !IsAuto(r.in.Model) {
		return false
	}
	first := r.ready[0]
	var drawn []int // places of the first target of each model that may be drawn
	for i, one := range r.ready {
		if i > 0 && one.Model == r.ready[i-1].Model {
			continue
		}
		if one.place == first.place && one.wish == first.wish && one.liked == first.liked && one.total <= dearestDraw*first.total {
			drawn = append(drawn, i)
		}
	}
	share := min(r.in.Explore, 1)
	for _, i := range drawn {
		r.ready[i].Propensity = share / float64(len(drawn))
	}
	first.Propensity += 1 - share
	if r.in.Draw >= share {
		return false
	}
	chosen := drawn[min(int(r.in.Draw/share*float64(len(drawn))), len(drawn)-1)]
	if chosen == 0 {
		return false
	}
	model := r.ready[chosen].Model
	front := make([]*runner, 0, len(r.ready))
	rest := make([]*runner, 0, len(r.ready))
	for _, one := range r.ready {
		if one.Model == model {
			front = append(front, one)
		} else {
			rest = append(rest, one)
		}
	}
	r.ready = slices.Concat(front, rest)
	return true
}
