package geminiapi

import (
	"context"
	"fmt"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// decodeEmbed decodes a request of embedContent or batchEmbedContents. It returns the equivalent request in OpenAI's format, which
// every provider of embeddings accepts. EncodeVectors translates the response. Fields without an equivalent are rejected.
func (f Format) decodeEmbed(ctx context.Context, body []byte, fields []llm.Field) (*llm.Request, error) {
	root := rawjson.Parse(body)
	requests := []rawjson.Value{root}
	if f.Batch {
		if len(fields) != 1 || canonical(fields[0].Name) != "requests" {
			return nil, strict.Reject(strict.Problem{Param: "requests", Message: "The body must contain only the field requests, a list of embedding requests."})
		}
		requests = root.Get("requests").List()
	}
	model := f.Model
	if model == "" && len(requests) > 0 { // logged requests have no path, so read the model from the body
		model = requests[0].Get("model").String()
	}
	out := rawjson.Writer{}
	out.Open()
	out.Str("model", ModelName(model))
	out.OpenList("input")
	dimensions := int64(0)
	for i, r := range requests {
		text, size, err := embedInput(r)
		switch {
		case err != nil:
			return nil, err
		case i > 0 && size != dimensions:
			return nil, strict.Reject(strict.Problem{Param: "outputDimensionality", Message: "All requests must have the same outputDimensionality."})
		}
		dimensions = size
		out.Element(rawjson.AppendString(nil, text))
	}
	out.CloseList()
	if dimensions > 0 {
		out.Int("dimensions", dimensions)
	}
	out.Close()
	return openai.Format{}.DecodeRequest(ctx, llm.Embed, out.Out)
}

// embedInput returns the text and the dimensions of one request.
func embedInput(r rawjson.Value) (text string, dimensions int64, err error) {
	found := false
	r.ForEach(func(key, v rawjson.Value) bool {
		switch name := canonical(key.String()); {
		case name == "model" || v.Kind == rawjson.Null: // ignore model, because the path contains it
		case name == "outputDimensionality" && v.Kind == rawjson.Number && v.Int() > 0:
			dimensions = v.Int()
		case name == "content":
			parts := v.Get("parts").List()
			if len(parts) == 1 && parts[0].Get("text").Kind == rawjson.Text {
				text, found = parts[0].Get("text").String(), true
			}
		default:
			err = strict.Reject(strict.Problem{Param: name, Message: fmt.Sprintf("The field %s of an embeddings request is not supported.", show.Quote(key.String()))})
		}
		return err == nil
	})
	if err == nil && !found {
		err = strict.Reject(strict.Problem{Param: "content", Message: "Send content with exactly one text part."})
	}
	return text, dimensions, err
}

// EncodeVectors implements wire.VectorEncoder.
func (f Format) EncodeVectors(data []byte) []byte {
	var w rawjson.Writer
	w.Open()
	if f.Batch {
		w.OpenList("embeddings")
	}
	for _, one := range rawjson.Get(data, "data").List() {
		values := rawjson.Writer{}
		values.Open()
		values.Raw("values", []byte(one.Get("embedding").Raw))
		values.Close()
		if f.Batch {
			w.Element(values.Out)
		} else {
			w.Raw("embedding", values.Out)
		}
	}
	if f.Batch {
		w.CloseList()
	}
	w.Close()
	return w.Out
}
