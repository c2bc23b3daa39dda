package openai

import (
	"strings"
)

// argumentTokens is the number of tokens of a tool call's arguments in one chunk.
const argumentTokens = 4

// Chunk is one event of a streamed chat completion.
type Chunk struct {
	ID                string        `json:"id"`
	Object            string        `json:"object"`
	Created           int64         `json:"created"`
	Model             string        `json:"model"`
	ServiceTier       string        `json:"service_tier"`
	SystemFingerprint string        `json:"system_fingerprint"`
	Choices           []ChunkChoice `json:"choices"`
	Usage             *Usage        `json:"usage,omitempty"`
}

// ChunkChoice is the part of a Chunk that belongs to one choice.
type ChunkChoice struct {
	Index        int       `json:"index"`
	Delta        delta     `json:"delta"`
	Logprobs     *logprobs `json:"logprobs"`
	FinishReason *string   `json:"finish_reason"`
}

type delta struct {
	Role             string      `json:"role,omitempty"`
	Content          *string     `json:"content,omitempty"`
	ReasoningContent string      `json:"reasoning_content,omitempty"`
	ToolCalls        []deltaCall `json:"tool_calls,omitempty"`
}

type deltaCall struct {
	Index    int        `json:"index"`
	ID       string     `json:"id,omitempty"`
	Type     string     `json:"type,omitempty"`
	Function *deltaBody `json:"function,omitempty"`
	Custom   *deltaText `json:"custom,omitempty"`
}

type deltaBody struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type deltaText struct {
	Name  string `json:"name,omitempty"`
	Input string `json:"input"`
}

// Chunk returns a chunk with the given choices.
func (a Response) Chunk(parts ...ChunkChoice) Chunk {
	if parts == nil {
		parts = []ChunkChoice{}
	}
	return Chunk{
		ID: a.ID, Object: "chat.completion.chunk", Created: a.Created, Model: a.Model,
		ServiceTier: "default", SystemFingerprint: fingerprint, Choices: parts,
	}
}

// Deltas lists the deltas of a stream in order: first a role for each choice, then the interleaved pieces of all
// choices. Each choice ends with its finish reason.
func (a Response) Deltas() []ChunkChoice {
	empty := ""
	all := []ChunkChoice{}
	rows := make([][]ChunkChoice, len(a.Choices))
	longest := 0
	for i, c := range a.Choices {
		all = append(all, ChunkChoice{Index: i, Delta: delta{Role: "assistant", Content: &empty}})
		rows[i] = a.deltas(i, c)
		longest = max(longest, len(rows[i]))
	}
	for n := range longest {
		for _, row := range rows {
			if n < len(row) {
				all = append(all, row[n])
			}
		}
	}
	return all
}

func (a Response) deltas(index int, c Choice) []ChunkChoice {
	pieces := []ChunkChoice{}
	for _, token := range c.Reasoning {
		pieces = append(pieces, ChunkChoice{Index: index, Delta: delta{ReasoningContent: token}})
	}
	for _, token := range c.Text {
		piece := ChunkChoice{Index: index, Delta: delta{Content: &token}}
		if a.Logprobs {
			piece.Logprobs = probabilities([]string{token}, a.Top)
		}
		pieces = append(pieces, piece)
	}
	for n, call := range c.Calls {
		for _, part := range callPieces(n, call) {
			pieces = append(pieces, ChunkChoice{Index: index, Delta: delta{ToolCalls: []deltaCall{part}}})
		}
	}
	return append(pieces, ChunkChoice{Index: index, FinishReason: &c.Finish})
}

// callPieces splits a tool call into deltas: first the ID and name, then the arguments.
func callPieces(n int, call ToolCall) []deltaCall {
	if call.Custom != nil {
		return []deltaCall{
			{Index: n, ID: call.ID, Type: call.Type, Custom: &deltaText{Name: call.Custom.Name}},
			{Index: n, Custom: &deltaText{Input: call.Custom.Input}},
		}
	}
	pieces := []deltaCall{{Index: n, ID: call.ID, Type: call.Type, Function: &deltaBody{Name: call.Function.Name}}}
	tokens := Tokenize(call.Function.Arguments)
	for len(tokens) > 0 {
		some := min(argumentTokens, len(tokens))
		pieces = append(pieces, deltaCall{Index: n, Function: &deltaBody{Arguments: strings.Join(tokens[:some], "")}})
		tokens = tokens[some:]
	}
	return pieces
}
