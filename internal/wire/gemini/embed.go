package gemini

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
)

// EmbedOptions holds the settings of an embeddings request.
type EmbedOptions struct {
	Model      string // the provider's model name
	Dimensions int64  // requested vector size; 0 for the model's default
}

// embedRequest is the body of embedContent, and an element of that of batchEmbedContents.
type embedRequest struct {
	Model      string         `json:"model,omitzero"`
	Content    content        `json:"content"`
	Dimensions strict.Whole   `json:"outputDimensionality,omitzero"`
	Unknown    jsontext.Value `json:",embed"`
}

type embedBatch struct {
	Requests []embedRequest `json:"requests"`
}

// RenderEmbed encodes the inputs in texts as the body of batchEmbedContents.
func RenderEmbed(texts []string, o EmbedOptions) ([]byte, error) {
	out := embedBatch{Requests: make([]embedRequest, len(texts))}
	for i, text := range texts {
		out.Requests[i] = embedRequest{
			Model:   "models/" + strings.TrimPrefix(o.Model, "models/"),
			Content: content{Parts: []part{textPart(text)}}, Dimensions: strict.WholeOf(o.Dimensions),
		}
	}
	return encode(out)
}

// decodeEmbedding decodes a request of embedContent or batchEmbedContents. It returns the equivalent request in OpenAI's format, which every
// provider of embeddings accepts. EncodeVectors translates the response. Fields without an equivalent are rejected.
func (f Format) decodeEmbedding(ctx context.Context, body []byte) (*llm.Request, error) {
	var batch embedBatch
	rules := strict.Rules{Alias: camelCase}
	if f.Batch {
		doc, err := strict.Decode(ctx, body, &batch, rules)
		if err != nil {
			return nil, err
		}
		if !doc.Given("requests") || len(doc.Fields) != 1 {
			return nil, strict.Reject(strict.Problem{Param: "requests", Message: "The body must contain only the field requests, a list of embedding requests."})
		}
		if err := doc.Reject(); err != nil {
			return nil, err
		}
	} else {
		batch.Requests = make([]embedRequest, 1)
		doc, err := strict.Decode(ctx, body, &batch.Requests[0], rules)
		if err != nil {
			return nil, err
		}
		for unknown := range doc.UnknownFields(batch.Requests[0]) {
			return nil, rejectEmbedField(unknown.Name)
		}
		if err := doc.Reject(); err != nil {
			return nil, err
		}
	}
	out := struct {
		Model      string       `json:"model"`
		Input      []string     `json:"input"`
		Dimensions strict.Whole `json:"dimensions,omitzero"`
	}{Model: f.Model, Input: []string{}}
	for i, one := range batch.Requests {
		unknown, _ := readMembers(one.Unknown)
		switch parts := one.Content.Parts; {
		case len(unknown) > 0:
			return nil, rejectEmbedField(unknown[0].name)
		case len(parts) != 1 || parts[0].Text == nil:
			return nil, strict.Reject(strict.Problem{Param: "content", Message: "Send content with exactly one text part."})
		case i > 0 && one.Dimensions != out.Dimensions:
			return nil, strict.Reject(strict.Problem{Param: "outputDimensionality", Message: "All requests must have the same outputDimensionality."})
		case i == 0:
			out.Model, out.Dimensions = ModelName(cmp.Or(f.Model, one.Model)), one.Dimensions // logged requests have no path
		}
		out.Input = append(out.Input, *one.Content.Parts[0].Text)
	}
	translated, err := encode(out)
	if err != nil {
		return nil, err
	}
	return openai.Format{}.DecodeRequest(ctx, llm.Embed, translated)
}

func rejectEmbedField(name string) error {
	return strict.Reject(strict.Problem{Param: name, Message: "The field " + show.Quote(name) + " of an embeddings request is not supported."})
}

// EncodeVectors implements wire.VectorEncoder.
func (f Format) EncodeVectors(data []byte) []byte {
	var in struct {
		Data []struct {
			Embedding jsontext.Value `json:"embedding"`
		} `json:"data"`
	}
	_ = json.Unmarshal(data, &in, lenient) // cannot fail, because the gateway encoded the response
	type vector struct {
		Values jsontext.Value `json:"values"`
	}
	list := make([]vector, len(in.Data))
	for i, one := range in.Data {
		list[i].Values = one.Embedding
	}
	out := map[string]any{"embeddings": list}
	if !f.Batch && len(list) > 0 {
		out = map[string]any{"embedding": list[0]}
	}
	encoded, _ := encode(out) // cannot fail
	return encoded
}

type instance struct {
	Content string `json:"content"`
}

type parameters struct {
	Dimensions int64 `json:"outputDimensionality"`
}

// RenderPredict encodes the inputs in texts as the body of predict, Vertex AI's embedding method.
func RenderPredict(texts []string, o EmbedOptions) ([]byte, error) {
	body := struct {
		Instances  []instance  `json:"instances"`
		Parameters *parameters `json:"parameters,omitzero"`
	}{Instances: make([]instance, len(texts))}
	for i, text := range texts {
		body.Instances[i].Content = text
	}
	if o.Dimensions > 0 {
		body.Parameters = &parameters{o.Dimensions}
	}
	return encode(body)
}

// VectorOptions holds the settings for decoding a response with vectors.
type VectorOptions struct {
	Inputs      int    // number of inputs, which is the expected number of vectors
	ContentType string // content type of the response
	MaxResponse int64  // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint    int64  // Content-Length of the response, if known
}

type values struct {
	Values     jsontext.Value `json:"values"`
	Statistics struct {
		Tokens *count `json:"token_count"`
	} `json:"statistics"`
}

// vectors is the response of batchEmbedContents or predict.
type vectors struct {
	Error       jsontext.Value `json:"error"`
	Embeddings  []values       `json:"embeddings"`
	Predictions []struct {
		Embeddings values `json:"embeddings"`
	} `json:"predictions"`
	Usage *usageMetadata `json:"usageMetadata"`
}

// Vectors decodes the embeddings of a response, in the order of the inputs. AI Studio reports no usage.
func Vectors(r io.Reader, o VectorOptions) (llm.Vectors, error) {
	if o.MaxResponse <= 0 {
		o.MaxResponse = DefaultMaxResponse
	}
	data, err := upstream.ReadAll(r, nil, o.MaxResponse, o.SizeHint)
	if err != nil {
		return llm.Vectors{}, err
	}
	if err := strict.CheckResponse(data, o.Inputs); err != nil {
		return llm.Vectors{}, err
	}
	var got vectors
	if err := json.Unmarshal(data, &got, lenient); err != nil {
		return llm.Vectors{}, notJSON("a JSON object", o.ContentType, err)
	}
	if isGiven(got.Error) {
		return llm.Vectors{}, fault.Inside(data)
	}
	list := got.Embeddings
	for _, p := range got.Predictions {
		list = append(list, p.Embeddings)
	}
	if len(list) == 0 || len(list) != o.Inputs {
		return llm.Vectors{}, malformed("The provider sent %d vectors for %d inputs.", len(list), o.Inputs)
	}
	out := llm.Vectors{Usage: got.usage(list)}
	for i, one := range list {
		if !isNumberList(one.Values) {
			return llm.Vectors{}, malformed("The provider sent no vector for input %d.", i)
		}
		out.Data = append(out.Data, []byte(one.Values))
	}
	return out, nil
}

// usage returns the total usage of all inputs, or nil when the provider does not report it.
func (v *vectors) usage(list []values) *llm.Usage {
	if u, ok := v.Usage.usage(); ok {
		u.Output, u.Reasoning = 0, 0
		return &u
	}
	var sum int64
	for _, one := range list {
		if one.Statistics.Tokens == nil || *one.Statistics.Tokens < 0 {
			return nil
		}
		sum += int64(*one.Statistics.Tokens)
	}
	return &llm.Usage{Input: sum}
}

// isNumberList reports whether raw is a list of at least one number. raw must be valid JSON, so checking characters is
// sufficient.
func isNumberList(raw jsontext.Value) bool {
	list := bytes.TrimSpace(raw)
	if len(list) < len("[0]") || list[0] != '[' {
		return false
	}
	inside := bytes.TrimSpace(list[1 : len(list)-1])
	return len(inside) > 0 && len(bytes.Trim(inside, "0123456789+-.eE, \t\r\n")) == 0
}
