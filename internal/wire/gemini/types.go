package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/go-json-experiment/json"

	"fairlead.dev/internal/llm"
)

// The types of this file describe the JSON of the API in both directions: requests of clients and for providers, responses of providers and
// for clients. Members whose form only the provider checks are a jsontext.Value.

// request is the body of generateContent.
type request struct {
	System   *content   `json:"systemInstruction,omitzero"`
	Contents []content  `json:"contents"`
	Tools    []tool     `json:"tools,omitzero"`
	Choice   toolConfig `json:"toolConfig,omitzero"`
	Settings settings   `json:"generationConfig,omitempty"`
	Tier     string     `json:"service_tier,omitzero"`
}

// content is one turn.
type content struct {
	Role  string `json:"role,omitzero"`
	Parts []part `json:"parts"`
}

// Roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// part is one part of a turn. It has one kind of content.
type part struct {
	Text      *string           `json:"text,omitzero"`
	Thought   bool              `json:"thought,omitzero"`
	Inline    *inlineData       `json:"inlineData,omitzero"`
	File      *fileData         `json:"fileData,omitzero"`
	Call      *functionCall     `json:"functionCall,omitzero"`
	Response  *functionResponse `json:"functionResponse,omitzero"`
	Signature string            `json:"thoughtSignature,omitzero"`
}

func textPart(text string) part { return part{Text: &text} }

type inlineData struct {
	Type string `json:"mimeType,omitzero"`
	Data string `json:"data"`
}

type fileData struct {
	Type string `json:"mimeType,omitzero"`
	URI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`
}

type functionResponse struct {
	ID       string         `json:"id,omitzero"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response,omitzero"`
}

type tool struct {
	Functions []function     `json:"functionDeclarations,omitzero"`
	Search    jsontext.Value `json:"googleSearch,omitzero"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`           // schema in the OpenAPI subset
	JSONSchema  jsontext.Value `json:"parametersJsonSchema,omitzero"` // plain JSON Schema
}

type toolConfig struct {
	Calling calling `json:"functionCallingConfig"`
}

type calling struct {
	Mode  string   `json:"mode,omitzero"`
	Names []string `json:"allowedFunctionNames,omitzero"`
}

// settings is the member generationConfig.
type settings struct {
	MaxOutput        int64          `json:"maxOutputTokens,omitzero"`
	Temperature      jsontext.Value `json:"temperature,omitzero"`
	TopP             jsontext.Value `json:"topP,omitzero"`
	TopK             jsontext.Value `json:"topK,omitzero"`
	PresencePenalty  jsontext.Value `json:"presencePenalty,omitzero"`
	FrequencyPenalty jsontext.Value `json:"frequencyPenalty,omitzero"`
	Seed             jsontext.Value `json:"seed,omitzero"`
	Stop             []string       `json:"stopSequences,omitzero"`
	Candidates       int            `json:"candidateCount,omitzero"`
	MIMEType         string         `json:"responseMimeType,omitzero"`
	Schema           jsontext.Value `json:"responseSchema,omitzero"`     // schema in the OpenAPI subset
	JSONSchema       jsontext.Value `json:"responseJsonSchema,omitzero"` // plain JSON Schema
	Resolution       string         `json:"mediaResolution,omitzero"`
	Thinking         *thinking      `json:"thinkingConfig,omitzero"`
}

// thinking is the member thinkingConfig of the settings.
type thinking struct {
	Level  string `json:"thinkingLevel,omitzero"`
	Budget *int64 `json:"thinkingBudget,omitzero"`
	Show   bool   `json:"includeThoughts,omitzero"`
}

// response is the response of generateContent, or one event of its stream.
type response struct {
	Error      jsontext.Value `json:"error,omitzero"`
	Candidates []candidate    `json:"candidates"`
	Feedback   feedback       `json:"promptFeedback,omitzero"`
	Usage      *usageMetadata `json:"usageMetadata,omitzero"`
	Model      string         `json:"modelVersion"`
	ID         string         `json:"responseId"`
}

type candidate struct {
	Content   content    `json:"content"`
	Finish    string     `json:"finishReason,omitzero"`
	Message   string     `json:"finishMessage,omitzero"`
	Index     int        `json:"index"`
	Grounding *grounding `json:"groundingMetadata,omitzero"`
}

type feedback struct {
	Reason string `json:"blockReason,omitzero"`
}

// grounding lists the sources of a candidate and the parts of its text that they support.
type grounding struct {
	Queries  []string         `json:"webSearchQueries,omitzero"`
	Chunks   []groundingChunk `json:"groundingChunks,omitzero"`
	Supports []support        `json:"groundingSupports,omitzero"`
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom. It ignores metadata of an unknown form, because the response is usable without the
// metadata.
func (g *grounding) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	type plain grounding
	var got plain
	if json.Unmarshal(raw, &got, lenient) == nil {
		*g = grounding(got)
	}
	return nil
}

type groundingChunk struct {
	Web webPage `json:"web"`
}

type webPage struct {
	URI   string `json:"uri"`
	Title string `json:"title,omitzero"`
}

// support is a range of the text that is supported by sources, given by their indices.
type support struct {
	Segment segment `json:"segment"`
	Chunks  []int   `json:"groundingChunkIndices"`
}

// segment is a range of bytes in a part or, in a stream, in the complete text.
type segment struct {
	Part  int    `json:"partIndex,omitzero"`
	Start int    `json:"startIndex"`
	End   int    `json:"endIndex"`
	Text  string `json:"text,omitzero"`
}

type usageMetadata struct {
	Prompt        *count     `json:"promptTokenCount,omitzero"`
	Candidates    *count     `json:"candidatesTokenCount,omitzero"`
	Total         count      `json:"totalTokenCount,omitzero"`
	Cached        count      `json:"cachedContentTokenCount,omitzero"`
	Thoughts      count      `json:"thoughtsTokenCount,omitzero"`
	ToolUse       count      `json:"toolUsePromptTokenCount,omitzero"`
	PromptDetails []modality `json:"promptTokensDetails,omitzero"`
	CacheDetails  []modality `json:"cacheTokensDetails,omitzero"`
	AnswerDetails []modality `json:"candidatesTokensDetails,omitzero"`
	Traffic       string     `json:"trafficType,omitzero"` // sent only by Vertex AI
	Tier          string     `json:"serviceTier,omitzero"`
}

type modality struct {
	Kind  string `json:"modality"`
	Count count  `json:"tokenCount"`
}

// count is a token count. An invalid value is decoded as -1.
type count = llm.TokenCount
