package llm

// Replace returns the body with other values in the place of some of its top-level members. with is asked for each member
// and says what stands there instead; nil keeps the value. Everything else stays as it is, byte for byte.
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
