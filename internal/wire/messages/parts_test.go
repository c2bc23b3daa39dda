package messages

import "fairlead/internal/llm"

func text(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func user(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.User, Parts: parts} }

func assistant(parts ...llm.Part) llm.Message { return llm.Message{Role: llm.Assistant, Parts: parts} }

func call(id, name, arguments string) llm.Part {
	return llm.Part{Kind: llm.CallPart, Call: &llm.ToolCall{ID: id, Name: name, Arguments: arguments}}
}

func result(id, s string) llm.Part {
	return llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Parts: []llm.Part{text(s)}}}
}

func thought(signer string) llm.Part {
	return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm", Signature: "sig", Provider: signer}}
}
