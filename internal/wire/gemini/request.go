package gemini

import "encoding/json"

// request is the body of generateContent.
type request struct {
	System   *content    `json:"systemInstruction,omitempty"`
	Contents []content   `json:"contents"`
	Tools    []tools     `json:"tools,omitempty"`
	Choice   *toolConfig `json:"toolConfig,omitempty"`
	Settings *settings   `json:"generationConfig,omitempty"`
	Tier     string      `json:"service_tier,omitempty"`
}

// content is one turn.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

const (
	roleUser  = "user"
	roleModel = "model"
)

// part is one part of a turn. Exactly one of the members other than Signature is set.
type part struct {
	Text      *string           `json:"text,omitempty"`
	Inline    *inlineData       `json:"inlineData,omitempty"`
	File      *fileData         `json:"fileData,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
}

func textPart(text string) part { return part{Text: &text} }

type inlineData struct {
	Type string `json:"mimeType"`
	Data string `json:"data"`
}

type fileData struct {
	Type string `json:"mimeType"`
	URI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string          `json:"id,omitempty"`
	Name     string          `json:"name"`
	Response json.RawMessage `json:"response"`
}

type tools struct {
	Functions []function `json:"functionDeclarations,omitempty"`
	Search    *struct{}  `json:"googleSearch,omitempty"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`           // schema in the OpenAPI subset
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"` // plain JSON Schema
}

type toolConfig struct {
	Calling calling `json:"functionCallingConfig"`
}

type calling struct {
	Mode  string   `json:"mode"`
	Names []string `json:"allowedFunctionNames,omitempty"`
}

type settings struct {
	MaxOutput        int64           `json:"maxOutputTokens,omitempty"`
	Temperature      json.Number     `json:"temperature,omitempty"`
	TopP             json.Number     `json:"topP,omitempty"`
	TopK             json.Number     `json:"topK,omitempty"`
	PresencePenalty  json.Number     `json:"presencePenalty,omitempty"`
	FrequencyPenalty json.Number     `json:"frequencyPenalty,omitempty"`
	Seed             json.Number     `json:"seed,omitempty"`
	Stop             []string        `json:"stopSequences,omitempty"`
	Candidates       int             `json:"candidateCount,omitempty"`
	MIMEType         string          `json:"responseMimeType,omitempty"`
	Schema           json.RawMessage `json:"responseSchema,omitempty"`     // schema in the OpenAPI subset
	JSONSchema       json.RawMessage `json:"responseJsonSchema,omitempty"` // plain JSON Schema
	Resolution       string          `json:"mediaResolution,omitempty"`
	Thinking         *thinkingConfig `json:"thinkingConfig,omitempty"`
}

type thinkingConfig struct {
	Level  string `json:"thinkingLevel,omitempty"`
	Budget *int64 `json:"thinkingBudget,omitempty"`
	Show   bool   `json:"includeThoughts,omitempty"`
}
