package messages

import "fairlead.dev/internal/llm"

func text(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }
