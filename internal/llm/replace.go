package llm

// Replace returns a copy of the body in which values of top-level members are replaced. The function with returns the new value of
// a member, or nil to keep it. All other bytes stay the same.
func (r *Request) Replace(with func(name string, value []byte) []byte) []byte {
	body, from := make([]byte, 0, len(r.Body)), 0
	for _, f := range r.Fields {
		value := with(f.Name, r.Body[f.Value:f.End])
		if value == nil {
			continue
		}
		body = append(body, r.Body[from:f.Value]...)
		body = append(body, value...)
		from = f.End
	}
	return append(body, r.Body[from:]...)
}
