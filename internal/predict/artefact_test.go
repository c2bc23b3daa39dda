package predict

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestEmbeddedArtefactIsComplete(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	n := p.Dimensions() + 1
	if len(embedded) > 4<<20 {
		t.Errorf("the artefact has %d bytes, want at most 4 MiB", len(embedded))
	}
	if got := len(p.Models()); got < 100 {
		t.Errorf("%d trained models, want at least 100", got)
	}
	for _, model := range p.Models() {
		if a, ok := p.Known(model); !ok || len(a.Vector) != n || a.Spread <= 0 || a.Source != FromTraining || len(a.Records) != len(p.Families()) || slices.Max(a.Records) < 100 {
			t.Errorf("ability of %s = %+v", model, a)
		}
	}
	prior := p.Prior()
	if len(prior.Mean) != n || len(prior.Covariance) != n {
		t.Fatalf("prior has %d means and %d rows, want one per dimension", len(prior.Mean), len(prior.Covariance))
	}
	for i, row := range prior.Covariance {
		if len(row) != n || row[i] <= 0 {
			t.Errorf("row %d of the covariance has %d numbers and variance %v, want a positive variance", i, len(row), row[i])
		}
		for j := range i {
			if math.Abs(row[j]-prior.Covariance[j][i]) > 1e-6 {
				t.Errorf("covariance %d,%d is not symmetric", i, j)
			}
		}
	}
}

func TestAnchorsOfEveryBenchmark(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	for _, want := range []string{"mmlu", "mmlu_pro", "gsm8k", "math_l5", "zebra_grid", "mmlu_redux", "bfcl", "mbpp", "human_eval", "arc_challenge", "trivia_qa"} {
		if !slices.Contains(p.Benchmarks(), want) {
			t.Errorf("no anchors of %s", want)
		}
	}
	for _, name := range p.Benchmarks() {
		sum := 0.0
		for _, a := range p.Anchors(name) {
			sum += a.Weight
			if len(a.Skills) != p.Dimensions() {
				t.Errorf("an anchor of %s has %d skills", name, len(a.Skills))
			}
		}
		if math.Abs(sum-1) > 1e-4 {
			t.Errorf("the weights of %s sum to %v", name, sum)
		}
	}
}

func TestParseRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	size := int(binary.LittleEndian.Uint32(embedded[len(magic):]))
	body := len(magic) + 4 + size
	swap := func(old, with string) []byte { return bytes.Replace(embedded, []byte(old), []byte(with), 1) }
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"nothing", nil, "does not start with"},
		{"another file format", []byte("%PDF-1.7 and so on"), "does not start with"},
		{"half a header", embedded[:body-10], "truncated header"},
		{"a broken header", swap(`{"name"`, `["name"`), "header"},
		{"other features", swap(fmt.Sprintf(`"dense":%d`, denseCount), fmt.Sprintf(`"dense":%d`, denseCount-1)), "train again"},
		{"a short body", embedded[:len(embedded)-1], "section records"},
		{"more buckets than bytes", swap(`"buckets":8`, `"buckets":9`), "section table"},
		{"a block without a weight", swap(`"blocks":[1.0,`, `"blocks":[    `), "incomplete"},
		{"an unknown family", swap(`"heads":[0`, `"heads":[9`), "unknown family 9"},
	} {
		_, err := Parse(c.data)
		if !errors.Is(err, errArtefact) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that contains %q", c.name, err, c.says)
		}
	}
}

func TestParseRejectsNumbersThatAreNotFinite(t *testing.T) {
	t.Parallel()
	data := bytes.Clone(embedded)
	binary.LittleEndian.PutUint32(data[len(data)-4:], math.Float32bits(float32(math.NaN())))
	if _, err := Parse(data); !errors.Is(err, errArtefact) {
		t.Errorf("Parse: %v, want errArtefact", err)
	}
}

func FuzzParse(f *testing.F) {
	size := int(binary.LittleEndian.Uint32(embedded[len(magic):]))
	f.Add(embedded[:len(magic)+4+size]) // the body is omitted for speed
	f.Add([]byte(magic + "\x02\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Parse(data); err == nil {
			p.Features(Prompt{Text: "What is 2 + 2?"})
		}
	})
}
