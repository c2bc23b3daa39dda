package gemini

import (
	"encoding/json"
	"strconv"
)

// response is an answer of generateContent, or one event of its stream.
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
		Parts []answerPart `json:"parts"`
	} `json:"content"`
	Finish  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

type feedback struct {
	Reason string `json:"blockReason"`
}

// answerPart is a part as the model writes it. Which kinds of media it holds does not matter: there is no place for them.
type answerPart struct {
	Text    *string `json:"text"`
	Thought bool    `json:"thought"`
	Seal    string  `json:"thoughtSignature"`
	Call    *struct {
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
	Traffic       string     `json:"trafficType"` // Vertex
	Tier          string     `json:"serviceTier"`
}

type modality struct {
	Kind  string `json:"modality"`
	Count count  `json:"tokenCount"`
}

// count is a number of tokens, which some gateways write as text. What is no such number becomes -1.
type count int64

// UnmarshalJSON never fails: one absurd figure must not cost the answer.
func (c *count) UnmarshalJSON(raw []byte) error {
	s := string(raw)
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	if s != "null" {
		*c = parseCount(s)
	}
	return nil
}

func parseCount(s string) count {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n > absurdTokens || n != float64(int64(n)) {
		return -1
	}
	return count(n)
}
