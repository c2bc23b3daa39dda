package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// MaxInputs is the maximum number of inputs of one request.
const MaxInputs = 2048

// EmbedOptions holds the settings for decoding an embeddings response.
type EmbedOptions struct {
	Model       string // model name of the response; empty to keep the provider's name
	Inputs      int    // expected number of vectors; 0 for any
	Base64      bool   // whether to return base64 instead of numbers
	ContentType string
	MaxResponse int64 // maximum size of the response in bytes; 0 for DefaultMaxResponse
	SizeHint    int64 // Content-Length of the response, if known
}

// vector is one entry of the data list of a response.
type vector struct {
	raw      []byte // the encoded entry
	from, to int    // position of the embedding in raw
	index    int64
	text     bool // whether the embedding is a base64 string
}

// Embedding decodes a provider's embeddings response: one vector per input, in order, in the requested encoding.
// Numbers are copied unchanged unless the encoding differs.
func Embedding(r io.Reader, o EmbedOptions) (llm.Event, error) {
	d, err := ReadDocument(r, EventOptions{Model: o.Model, ContentType: o.ContentType, MaxResponse: o.MaxResponse, SizeHint: o.SizeHint})
	if err != nil {
		return llm.Event{}, err
	}
	data := d.Data
	vectors, count, from, to := readVectors(data, cmp.Or(o.Inputs, MaxInputs))
	if err := checkVectors(vectors, count, o.Inputs); err != nil {
		return llm.Event{}, err
	}
	if !inOrder(vectors, o.Base64) {
		list, err := joinVectors(vectors, o.Base64)
		if err != nil {
			return llm.Event{}, err
		}
		data = slices.Concat(data[:from], list, data[to:])
	}
	ev := llm.Event{Content: true, Model: d.Model, Usage: d.Usage}
	ev.Data, err = d.WithModel(data)
	return ev, err
}

// readVectors returns the first entries of the response's data list (at most limit), the number of all entries, and the position of the
// list. The document must be valid JSON.
func readVectors(data []byte, limit int) (vectors []vector, count, from, to int) {
	s := rawjson.Scanner{Data: data}
	for key := range s.Members {
		if string(key) != "data" || s.Kind() != '[' {
			continue
		}
		vectors, count, from = nil, 0, s.Pos // of several members with this name, the last one counts, as in most parsers
		for n := range s.Elements {
			if count++; n < limit {
				vectors = append(vectors, readVector(int64(n), s.Raw()))
			}
		}
		to = s.Pos
	}
	return vectors, count, from, to
}

func readVector(n int64, raw []byte) vector {
	v := vector{raw: raw, index: n}
	s := rawjson.Scanner{Data: raw}
	if s.Kind() != '{' {
		return v
	}
	for key := range s.Members {
		switch string(key) {
		case "index":
			if s.Kind() == '0' {
				v.index, _ = rawjson.ParseInteger(s.Number())
			}
		case "embedding":
			kind := s.Kind()
			if kind != '[' && kind != '"' {
				continue
			}
			v.from, v.text = s.Pos, kind == '"'
			s.Skip()
			v.to = s.Pos
		}
	}
	return v
}

// checkVectors rejects missing, repeated and empty entries.
func checkVectors(vectors []vector, count, inputs int) error {
	if count == 0 || count != len(vectors) || inputs > 0 && count != inputs {
		return llm.Errorf(llm.UpstreamMalformed, "The provider sent %d vectors for %d inputs.", count, inputs)
	}
	seen := make([]bool, len(vectors))
	for _, v := range vectors {
		if v.index < 0 || v.index >= int64(len(vectors)) || seen[v.index] {
			return llm.Errorf(llm.UpstreamMalformed, "The provider's vectors do not match the inputs.")
		}
		seen[v.index] = true
		if v.to == 0 || len(bytes.TrimSpace(v.raw[v.from+1:v.to-1])) == 0 {
			return llm.Errorf(llm.UpstreamMalformed, "The provider sent no vector for input %d.", v.index)
		}
	}
	return nil
}

// inOrder reports whether the entries can be copied unchanged, because they are in the right order and have the requested encoding.
func inOrder(vectors []vector, wantBase64 bool) bool {
	for n, v := range vectors {
		if v.index != int64(n) || v.text != wantBase64 {
			return false
		}
	}
	return true
}

func joinVectors(vectors []vector, wantBase64 bool) ([]byte, error) {
	slices.SortFunc(vectors, func(a, b vector) int { return int(a.index - b.index) })
	size := 2
	for _, v := range vectors {
		size += 3 * len(v.raw)
	}
	out := append(make([]byte, 0, size), '[')
	for n, v := range vectors {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, v.raw[:v.from]...)
		var err error
		if out, err = appendVector(out, v, wantBase64); err != nil {
			return nil, &llm.Error{Kind: llm.UpstreamMalformed, Message: fmt.Sprintf("The provider's vector for input %d cannot be decoded.", v.index), Err: err}
		}
		out = append(out, v.raw[v.to:]...)
	}
	return append(out, ']'), nil
}

// appendVector appends the embedding in the requested encoding. Base64 contains little-endian 32-bit floats.
func appendVector(dst []byte, v vector, wantBase64 bool) ([]byte, error) {
	value := v.raw[v.from:v.to]
	switch {
	case v.text == wantBase64:
		return append(dst, value...), nil
	case wantBase64:
		return appendBase64(dst, value)
	default:
		return appendNumbers(dst, value)
	}
}

func appendBase64(dst, list []byte) ([]byte, error) {
	s := rawjson.Scanner{Data: list}
	packed := make([]byte, 0, len(list)/2)
	var bad error
	for range s.Elements {
		if s.Kind() != '0' {
			bad = fmt.Errorf("vector has an element that is not a number")
			continue
		}
		f, err := strconv.ParseFloat(string(s.Number()), 32)
		if err != nil {
			bad = err
		}
		packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(float32(f)))
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), packed)
	return append(dst, '"'), bad
}

func appendNumbers(dst, quoted []byte) ([]byte, error) {
	s := rawjson.Scanner{Data: quoted}
	packed, err := base64.StdEncoding.AppendDecode(nil, s.Unquote(s.ReadString()))
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 || len(packed)%4 != 0 {
		return nil, fmt.Errorf("vector has %d bytes, not a multiple of 4", len(packed))
	}
	dst = append(dst, '[')
	for i := 0; i < len(packed); i += 4 {
		f := float64(math.Float32frombits(binary.LittleEndian.Uint32(packed[i:])))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("vector has a value that JSON cannot represent")
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, f, 'g', -1, 32)
	}
	return append(dst, ']'), nil
}
