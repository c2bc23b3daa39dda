package gemini

import (
	"encoding/json"

	"fairlead.dev/internal/llm"
)

// response is the response of generateContent, or one event of its stream.
type response struct {
	Error      json.RawMessage `json:"error"`
	Candidates []candidate     `json:"candidates"`
	Feedback   *feedback       `json:"promptFeedback"`
	Usage      *usageMetadata  `json:"usageMetadata"`
	Model      string          `json:"modelVersion"`
	ID         string          `json:"responseId"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []responsePart `json:"parts"`
	} `json:"content"`
	Finish    string     `json:"finishReason"`
	Message   string     `json:"finishMessage"`
	Grounding *grounding `json:"groundingMetadata"`
}

// grounding lists the sources of a candidate and the parts of its text that they support.
type grounding struct {
	Queries []string `json:"webSearchQueries"`
	Chunks  []struct {
		Web struct {
			URI   string `json:"uri"`
			Title string `json:"title"`
		} `json:"web"`
	} `json:"groundingChunks"`
	Supports []support `json:"groundingSupports"`
}

// UnmarshalJSON implements json.Unmarshaler. It ignores metadata of an unknown form, because the response is usable without the metadata.
func (g *grounding) UnmarshalJSON(data []byte) error {
	type plain grounding
	var got plain
	if json.Unmarshal(data, &got) == nil {
		*g = grounding(got)
	}
	return nil
}

type support struct {
	Segment struct {
		Part  int `json:"partIndex"`
		Start int `json:"startIndex"` // byte offset in the part, or in a stream, in the complete text
		End   int `json:"endIndex"`
	} `json:"segment"`
	Chunks []int `json:"groundingChunkIndices"`
}

type feedback struct {
	Reason string `json:"blockReason"`
}

// responsePart is a part of a response. Media are not decoded, because the client formats cannot express them.
type responsePart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

type usageMetadata struct {
	Prompt        *count     `json:"promptTokenCount"`
	Cached        count      `json:"cachedContentTokenCount"`
	Candidates    *count     `json:"candidatesTokenCount"`
	Thoughts      count      `json:"thoughtsTokenCount"`
	ToolUse       count      `json:"toolUsePromptTokenCount"`
	Total         count      `json:"totalTokenCount"`
	PromptDetails []modality `json:"promptTokensDetails"`
	CacheDetails  []modality `json:"cacheTokensDetails"`
	AnswerDetails []modality `json:"candidatesTokensDetails"`
	Traffic       string     `json:"trafficType"` // sent only by Vertex AI
	Tier          string     `json:"serviceTier"`
}

type modality struct {
	Kind  string `json:"modality"`
	Count count  `json:"tokenCount"`
}

// count is a token count. An invalid value is decoded as -1.
type count = llm.TokenCount
