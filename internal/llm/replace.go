package llm

// Replace returns a copy of the body in which values of top-level members are replaced. update returns the new value of a member, or nil
// to keep the value. All other bytes stay the same.
func (p *Payload) Replace(update func(name string, value []byte) []byte) []byte {
	body, from := make([]byte, 0, len(p.Body)), 0
	for _, f := range p.Fields {
		value := update(f.Name, p.Body[f.Value:f.End])
		if value == nil {
			continue
		}
		body = append(body, p.Body[from:f.Value]...)
		body = append(body, value...)
		from = f.End
	}
	return append(body, p.Body[from:]...)
}
