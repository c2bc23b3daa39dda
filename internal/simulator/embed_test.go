package simulator

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/simulator/simtest"
)

func floats(t *testing.T, raw json.RawMessage) []float32 {
	t.Helper()
	var list []float32
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestVectorsAreUnitAndOrdered(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	for _, tt := range []struct {
		body string
		size int
		n    int
	}{
		{`{"model":"sim-embed-small","input":"one"}`, 1536, 1},
		{`{"model":"sim-embed-large","input":["one","two","..."]}`, 3072, 3},
		{`{"model":"sim-embed-small","input":["one"],"dimensions":256}`, 256, 1},
		{`{"model":"sim-embed-small","input":["one"],"dimensions":1}`, 1, 1},
		{`{"model":"sim-embed-small","input":[1,2,3]}`, 1536, 1},
		{`{"model":"sim-embed-small","input":[[1,2],[3]],"encoding_format":"float"}`, 1536, 2},
	} {
		a := simtest.Embed(t, s, tt.body)
		if len(a.Data) != tt.n || a.Usage.Prompt == 0 || a.Usage.Prompt != a.Usage.Total {
			t.Errorf("%s: %d vectors, usage %+v; want %d vectors and only prompt tokens", tt.body, len(a.Data), a.Usage, tt.n)
		}
		for i, d := range a.Data {
			v := floats(t, d.Embedding)
			if d.Index != i || len(v) != tt.size || math.Abs(dot(v, v)-1) > 1e-4 {
				t.Errorf("%s: index %d, %d dimensions, squared length %f; want %d, %d, 1", tt.body, d.Index, len(v), dot(v, v), i, tt.size)
			}
		}
	}
}

func TestSimilarTextsHaveSimilarVectors(t *testing.T) {
	t.Parallel()
	for _, dimensions := range []int{256, 1536} {
		body := fmt.Sprintf(`{"model":"sim-embed-small","dimensions":%d,"input":["How do I reset my password?","How can I reset the password","Bake the bread for an hour at low heat","how do i reset my password"]}`, dimensions)
		a := simtest.Embed(t, NewSimulator(Options{}), body)
		v := [][]float32{}
		for _, d := range a.Data {
			v = append(v, floats(t, d.Embedding))
		}
		near, far, same := dot(v[0], v[1]), dot(v[0], v[2]), dot(v[0], v[3])
		if near < far+0.2 || same < 0.999 {
			t.Errorf("%d dimensions: near %.3f, far %.3f, same %.3f", dimensions, near, far, same)
		}
	}
}

func TestBase64IsTheSameVector(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	plain := floats(t, simtest.Embed(t, s, `{"model":"sim-embed-small","input":"one","dimensions":8}`).Data[0].Embedding)
	var text string
	if err := json.Unmarshal(simtest.Embed(t, s, `{"model":"sim-embed-small","input":"one","dimensions":8,"encoding_format":"base64"}`).Data[0].Embedding, &text); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	decoded := []float32{}
	for ; len(raw) > 0; raw = raw[4:] {
		decoded = append(decoded, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	if diff := cmp.Diff(plain, decoded); diff != "" {
		t.Error(diff)
	}
}

func TestEmbeddingFaults(t *testing.T) {
	t.Parallel()
	s := NewSimulator(Options{})
	ask := func(fault string) string {
		return `{"model":"sim-embed-small","input":"one","metadata":{"simulate":"` + fault + `"}}`
	}
	if status, _ := simtest.Error(t, s, "/v1/embeddings", ask("503")); status != http.StatusServiceUnavailable {
		t.Errorf("503: status %d, want 503", status)
	}
	if a := simtest.Embed(t, s, ask("no_usage")); a.Usage != nil {
		t.Errorf("no_usage: usage %+v, want none", a.Usage)
	}
	if a := simtest.Embed(t, s, ask("absurd_usage")); a.Usage.Prompt >= 0 {
		t.Errorf("absurd_usage: usage %+v, want negative tokens", a.Usage)
	}
	if _, err := simtest.ReadAll(simtest.Post(t, s, "/v1/embeddings", ask("cut"))); err == nil {
		t.Error("cut: the response is complete")
	}
}
