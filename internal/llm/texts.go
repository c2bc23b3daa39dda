package llm

// Texts returns all strings that the model reads, for counting their tokens.
func (c *Conversation) Texts() []string {
	var texts []string
	add := func(some ...string) {
		for _, s := range some {
			if s != "" {
				texts = append(texts, s)
			}
		}
	}
	var parts func([]Part)
	parts = func(list []Part) {
		for _, p := range list {
			add(p.Text)
			switch {
			case p.Thinking != nil:
				add(p.Thinking.Text)
			case p.Call != nil:
				add(p.Call.Name, p.Call.Arguments)
			case p.Result != nil:
				parts(p.Result.Parts)
			}
		}
	}
	for _, m := range c.Messages {
		add(m.Name)
		parts(m.Parts)
	}
	for _, tool := range c.Tools {
		add(tool.Name, tool.Description, string(tool.Schema), string(tool.Format))
	}
	add(c.Output.Name, c.Output.Description, string(c.Output.Schema))
	return texts
}
