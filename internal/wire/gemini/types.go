package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

// The types of this file describe the JSON of the API in both directions: requests of clients and for providers, responses of providers and
// for clients. Members whose form only the provider checks are a jsontext.Value.

// request is the body of generateContent.
type request struct {
	System   *content       `json:"systemInstruction,omitzero"`
	Contents []content      `json:"contents"`
	Tools    []tool         `json:"tools,omitzero"`
	Choice   toolConfig     `json:"toolConfig,omitzero"`
	Settings settings       `json:"generationConfig,omitempty"`
	Safety   jsontext.Value `json:"safetySettings,omitzero"`
	Labels   jsontext.Value `json:"labels,omitzero"`
	Cached   jsontext.Value `json:"cachedContent,omitzero"`
	Counted  jsontext.Value `json:"generateContentRequest,omitzero"` // request whose tokens are counted
	strict.Controls
}

// content is one turn.
type content struct {
	Role    string         `json:"role,omitzero"`
	Parts   partList       `json:"parts"`
	Unknown jsontext.Value `json:",embed"`
}

// partList is a list of parts. Clients may send a single part in place of a list.
type partList []part

// Accepts implements strict.Shape.
func (*partList) Accepts(kind byte) bool { return kind == '[' || kind == '{' }

// Description implements strict.Shape.
func (*partList) Description() string { return "a list of parts" }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (l *partList) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return json.UnmarshalDecode(d, (*[]part)(l))
	}
	*l = make(partList, 1)
	return json.UnmarshalDecode(d, &(*l)[0])
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
	Code      jsontext.Value    `json:"executableCode,omitzero"`
	Outcome   jsontext.Value    `json:"codeExecutionResult,omitzero"`
	Signature string            `json:"thoughtSignature,omitzero"`
	Unknown   jsontext.Value    `json:",embed"`
}

// countKinds returns the number of kinds of content in the part.
func (p *part) countKinds() (n int) {
	for _, given := range []bool{p.Text != nil, p.Inline != nil, p.File != nil, p.Call != nil, p.Response != nil, isGiven(p.Code), isGiven(p.Outcome)} {
		if given {
			n++
		}
	}
	return n
}

func textPart(text string) part { return part{Text: &text} }

type inlineData struct {
	Type    string         `json:"mimeType,omitzero"`
	Data    string         `json:"data"` // base64
	Name    string         `json:"displayName,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

type fileData struct {
	Type    string         `json:"mimeType,omitzero"`
	URI     string         `json:"fileUri"`
	Name    string         `json:"displayName,omitzero"`
	Unknown jsontext.Value `json:",embed"`
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
	Parts    partList       `json:"parts,omitzero"`
}

type tool struct {
	Functions []function     `json:"functionDeclarations,omitzero"`
	Search    jsontext.Value `json:"googleSearch,omitzero"`
	OldSearch jsontext.Value `json:"googleSearchRetrieval,omitzero"`
	Code      jsontext.Value `json:"codeExecution,omitzero"`
	URLs      jsontext.Value `json:"urlContext,omitzero"`
	Unknown   jsontext.Value `json:",embed"` // other tools that Google runs
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`           // schema in the OpenAPI subset
	JSONSchema  jsontext.Value `json:"parametersJsonSchema,omitzero"` // plain JSON Schema
}

type toolConfig struct {
	Calling calling        `json:"functionCallingConfig"`
	Unknown jsontext.Value `json:",embed"`
}

type calling struct {
	Mode    string         `json:"mode,omitzero"`
	Names   []string       `json:"allowedFunctionNames,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// settings is the member generationConfig.
type settings struct {
	MaxOutput        strict.Whole   `json:"maxOutputTokens,omitzero"`
	Temperature      jsontext.Value `json:"temperature,omitzero"`
	TopP             jsontext.Value `json:"topP,omitzero"`
	TopK             jsontext.Value `json:"topK,omitzero"`
	PresencePenalty  jsontext.Value `json:"presencePenalty,omitzero"`
	FrequencyPenalty jsontext.Value `json:"frequencyPenalty,omitzero"`
	Seed             jsontext.Value `json:"seed,omitzero"`
	Stop             []string       `json:"stopSequences,omitzero"`
	Candidates       strict.Whole   `json:"candidateCount,omitzero"`
	MIMEType         string         `json:"responseMimeType,omitzero"`
	Schema           object         `json:"responseSchema,omitzero"`     // schema in the OpenAPI subset
	JSONSchema       object         `json:"responseJsonSchema,omitzero"` // plain JSON Schema
	Modalities       []string       `json:"responseModalities,omitzero"`
	Resolution       string         `json:"mediaResolution,omitzero"`
	Thinking         *thinking      `json:"thinkingConfig,omitzero"`
	Unknown          jsontext.Value `json:",embed"`
}

// thinking is the member thinkingConfig of the settings.
type thinking struct {
	Level   string         `json:"thinkingLevel,omitzero"`
	Budget  strict.Whole   `json:"thinkingBudget,omitzero"` // -1 if the model chooses the budget
	Show    bool           `json:"includeThoughts,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// object is a JSON object that is not decoded further.
type object jsontext.Value

// Accepts implements strict.Shape.
func (*object) Accepts(kind byte) bool { return kind == '{' }

// Description implements strict.Shape.
func (*object) Description() string { return "an object" }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (o *object) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	raw, err := d.ReadValue()
	if raw.Kind() == '{' {
		*o = object(raw)
	}
	return err
}

// MarshalJSONTo implements json.MarshalerTo.
func (o object) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(o)) }

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
