package openai

import (
	"io"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

// Document is a response that consists of one JSON object other than a chat completion, such as embeddings.
type Document struct {
	Data   []byte
	Model  string     // model name reported by the provider; may be empty
	Usage  *llm.Usage // nil when the provider reports none
	reader *responseReader
}

// ReadDocument decodes a response into a Document. It returns an error if the provider reports an error inside a 2xx
// response.
func ReadDocument(r io.Reader, o EventOptions) (Document, error) {
	reader := newResponseReader(r, o)
	reader.takeChunk()
	data, err := upstream.ReadAll(r, nil, reader.o.MaxResponse, reader.o.SizeHint)
	if err != nil {
		return Document{}, err
	}
	data = withoutMark(data)
	if err := reader.c.scan(data); err != nil {
		return Document{}, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response is not a JSON object" + reader.contentType() + ".", Err: err}
	}
	if reader.c.fault != nil {
		return Document{}, fault.Inside(reader.c.fault)
	}
	reader.recordHead(data)
	d := Document{Data: data, Model: reader.reported, reader: reader}
	if usage, ok := parseEmbedUsage(reader.c.usage); ok {
		d.Usage = &usage
	}
	return d, nil
}

// WithModel returns data with the model name from EventOptions. data is d.Data or an edited copy.
func (d Document) WithModel(data []byte) ([]byte, error) {
	if &data[0] != &d.Data[0] {
		if err := d.reader.c.scan(data); err != nil {
			return nil, &llm.Error{Kind: llm.UpstreamMalformed, Message: "The provider's response cannot be decoded.", Err: err}
		}
	}
	return d.reader.rewrite(data, false), nil
}
