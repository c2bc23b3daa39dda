package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestEmbedding(t *testing.T) {
	t.Parallel()
	const (
		floats = `[0.5,-1.0,2.500]`
		packed = `"AAAAPwAAgL8AACBA"`
		usage  = `"usage":{"prompt_tokens":3,"total_tokens":3}`
	)
	entry := func(index, value string) string {
		return `{"object":"embedding", "index":` + index + `,"embedding":` + value + `}`
	}
	answer := func(entries ...string) string {
		return `{"object":"list","model":"up","data":[` + strings.Join(entries, ",") + `],` + usage + `}`
	}
	tests := map[string]struct {
		body string
		o    EmbedOptions
		want string
	}{
		"numbers are copied unchanged": {answer(entry("0", `[0.10000000000000001, 1e-7]`)), EmbedOptions{Inputs: 1}, answer(entry("0", `[0.10000000000000001, 1e-7]`))},
		"base64 is copied unchanged":   {answer(entry("0", packed)), EmbedOptions{Inputs: 1, Base64: true}, answer(entry("0", packed))},
		"numbers to base64":            {answer(entry("0", floats)), EmbedOptions{Inputs: 1, Base64: true}, answer(entry("0", packed))},
		"base64 to numbers":            {answer(entry("0", packed)), EmbedOptions{Inputs: 1}, answer(entry("0", `[0.5,-1,2.5]`))},
		"order by index":               {answer(entry("1", `[2]`), entry("0", `[1]`)), EmbedOptions{Inputs: 2}, answer(entry("0", `[1]`), entry("1", `[2]`))},
		"mixed encodings and order":    {answer(entry("1", packed), entry("0", `[1]`)), EmbedOptions{Inputs: 2}, answer(entry("0", `[1]`), entry("1", `[0.5,-1,2.5]`))},
		"without index":                {`{"data":[{"embedding":[1]},{"embedding":[2]}]}`, EmbedOptions{Inputs: 2}, `{"data":[{"embedding":[1]},{"embedding":[2]}]}`},
		"the canonical model":          {answer(entry("0", `[1]`)), EmbedOptions{Model: "canon"}, strings.Replace(answer(entry("0", `[1]`)), `"up"`, `"canon"`, 1)},
		"the model is added":           {`{"data":[{"embedding":[1]}],"error":null}`, EmbedOptions{Model: "canon"}, `{"model":"canon","data":[{"embedding":[1]}]}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev, err := Embedding(strings.NewReader(tc.body), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(ev.Data)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(tc.body, "usage") && (ev.Usage == nil || *ev.Usage != llm.Usage{Input: 3} || ev.Model != "up" || !ev.Content) {
				t.Errorf("event %+v, usage %+v; want 3 input tokens and model up", ev, ev.Usage)
			}
		})
	}
}

func TestEmbeddingRejectsInvalidResponses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Kind{
		``: llm.UpstreamMalformed, `null`: llm.UpstreamMalformed, `<html>`: llm.UpstreamMalformed, `{}`: llm.UpstreamMalformed, `{"data":[]}`: llm.UpstreamMalformed,
		`{"data":{}}`:                            llm.UpstreamMalformed,
		`{"data":[[1],[2]]}`:                     llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]}]}`: llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`:  llm.UpstreamMalformed,
		`{"data":[{"index":0,"embedding":[1]},{"index":5,"embedding":[1]}]}`:  llm.UpstreamMalformed,
		`{"data":[{"index":-1,"embedding":[1]},{"index":1,"embedding":[1]}]}`: llm.UpstreamMalformed,
		`{"data":[{"embedding":[1]},{"embedding":null}]}`:                     llm.UpstreamMalformed,
		`{"data":[{"embedding":[1]},{"embedding":[]}]}`:                       llm.UpstreamMalformed,
		`{"data":[{"embedding":[1]},{"embedding":[ ]}]}`:                      llm.UpstreamMalformed,
		`{"data":[{"embedding":["x"]},{"embedding":[1]}]}`:                    llm.UpstreamMalformed,
		`{"data":[{"embedding":[1e99]},{"embedding":[1]}]}`:                   llm.UpstreamMalformed,
		`{"error":{"message":"Rate limit","code":"rate_limit_exceeded"}}`:     llm.UpstreamRateLimited,
	} {
		_, err := Embedding(strings.NewReader(body), EmbedOptions{Inputs: 2, Base64: true})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != want {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	for _, value := range []string{`"AAAA"`, `"***"`, `"AADAfw=="`, `"AA=="`} {
		_, err := Embedding(strings.NewReader(`{"data":[{"embedding":`+value+`}]}`), EmbedOptions{})
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.UpstreamMalformed {
			t.Errorf("%s: %v, want UpstreamMalformed", value, err)
		}
	}
}

func FuzzEmbedding(f *testing.F) {
	f.Add([]byte(`{"object":"list","model":"up","data":[{"index":1,"embedding":[1,2]},{"index":0,"embedding":"AAAAPw=="}],"usage":{"total_tokens":3}}`), 2, true)
	f.Add([]byte(`{"data":[{"embedding":[0.5]}],"model":null,"error":null}`), 1, false)
	f.Add([]byte(`{"data":[{"embedding":"AAAAPwAAgL8AACBA"}],"usage":{"prompt_tokens":1}}`), 0, false)
	f.Add([]byte(`{"data":[{"embedding":[0.1000000001, -0, 1e-45,16777217]}, {"embedding":[3.4028234e38]}]}`), 2, true)
	f.Add([]byte(`{"data":[{"index":1,"embedding":[ 1 ],"x":"embedding"},{"embedding":"AAAAgAEAAAA=","index":0}],"n":1}`), 0, false)
	f.Add([]byte(`{"data":[{"embedding":[ ]}]}`), 0, true)
	f.Add([]byte(`{"data":[{"embedding":[1]}],"data":[{"index":1,"embedding":[2]}]}`), 0, true)
	f.Add([]byte(`{"data":[{"embedding":"\n"}]}`), 0, true)
	f.Fuzz(func(t *testing.T, answer []byte, inputs int, base64 bool) {
		ev, err := Embedding(bytes.NewReader(answer), EmbedOptions{Model: "canon", Inputs: inputs, Base64: base64})
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("%v is not an *llm.Error", err)
			}
			return
		}
		if model := rawjson.Get(ev.Data, "model").String(); !json.Valid(ev.Data) || model != "canon" {
			t.Fatalf("response %s\nwas converted to %s, want JSON with model canon", answer, ev.Data)
		}
		if u := ev.Usage; u != nil && (u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output != 0) {
			t.Fatalf("impossible usage %+v", u)
		}
		if again := decodeVectors(t, ev.Data, inputs, base64); !bytes.Equal(again, ev.Data) {
			t.Fatalf("%s\nwas changed by a second decoding to %s", ev.Data, again)
		}
		converted, err := Embedding(bytes.NewReader(ev.Data), EmbedOptions{Inputs: inputs, Base64: !base64})
		if err != nil {
			return // an embedding that already has the requested encoding is copied without validation
		}
		back := decodeVectors(t, converted.Data, inputs, base64)
		if again := decodeVectors(t, back, inputs, !base64); !bytes.Equal(again, converted.Data) {
			t.Fatalf("%s\nwas encoded as %s\nand decoded as %s", converted.Data, back, again)
		}
	})
}

// decodeVectors decodes a valid response with Embedding.
func decodeVectors(t *testing.T, data []byte, inputs int, base64 bool) []byte {
	t.Helper()
	ev, err := Embedding(bytes.NewReader(data), EmbedOptions{Inputs: inputs, Base64: base64})
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return ev.Data
}
