package route

// Sighting is what was seen of a target that policies kept out of the field. The router's choice without policies depends
// on it, and so does computing a decision again.
type Sighting struct {
	Target string `json:"target"`
	Seen   State  `json:"seen,omitzero"`
	Warm   Warmth `json:"warm,omitzero"`
}

// aside lists what the race without policies saw that the candidates of the race with them do not tell.
func (r *race) aside(alone *race) []Sighting {
	var list []Sighting
	for i := range alone.field {
		one := &alone.field[i]
		if (one.Seen == State{} && one.Warm == Warmth{}) || r.saw(one) {
			continue
		}
		list = append(list, Sighting{Target: one.id, Seen: one.Seen, Warm: one.Warm})
	}
	return list
}

func (r *race) saw(other *runner) bool {
	for i := range r.field {
		if one := &r.field[i]; one.target == other.target {
			return one.Seen == other.Seen && one.Warm == other.Warm
		}
	}
	return false
}
