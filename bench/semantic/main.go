// Command semantic measures how often a semantic response cache would return a wrong response. It computes the similarity of prompts with
// equal and with different answers, using vectors that the gateway can compute itself. docs/decisions/0092 has the result.
//
//	go run ./bench/semantic
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"fairlead.dev/internal/predict"
)

//go:embed pairs.txt
var list string

// same marks pairs whose prompts have the same answer.
const same = "="

// pair holds two prompts and the kind of difference between them.
type pair struct{ first, second, difference string }

// parse reads the groups of pairs.txt.
func parse(text string) ([]pair, error) {
	var pairs []pair
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "":
			first = ""
		case first == "":
			first = line
		default:
			difference, second, found := strings.Cut(line, " ")
			if !found {
				return nil, fmt.Errorf("line %q has no prompt", line)
			}
			pairs = append(pairs, pair{first, second, difference})
		}
	}
	return pairs, nil
}

// vector is a sparse vector that maps the name of a dimension to its value. The predictor's vectors use the index as the name.
type vector map[string]float64

func cosine(a, b vector) float64 {
	dot, left, right := 0.0, 0.0, 0.0
	for name, v := range a {
		dot += v * b[name]
		left += v * v
	}
	for _, v := range b {
		right += v * v
	}
	if left == 0 || right == 0 {
		return 0
	}
	return dot / math.Sqrt(left*right)
}

// trigrams counts the sequences of three characters in text, converted to lower case.
func trigrams(text string) vector {
	v := vector{}
	runes := []rune(" " + strings.Join(strings.Fields(strings.ToLower(text)), " ") + " ")
	for i := range len(runes) - 2 {
		v[string(runes[i:i+3])]++
	}
	return v
}

func run(out io.Writer) error {
	predictor, err := predict.Embedded()
	if err != nil {
		return err
	}
	pairs, err := parse(list)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name       string
		thresholds []float64
		of         func(text string) vector
	}{
		{"trigrams", []float64{0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98}, trigrams},
		{"predictor", []float64{0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999}, func(text string) vector {
			v := vector{}
			for i, skill := range predictor.Features(predict.Prompt{Text: text, Messages: 1, Tokens: int64(len(text) / 4)}).Skills {
				v[fmt.Sprint(i)] = skill
			}
			return v
		}},
	} {
		scores := map[string][]float64{}
		for _, p := range pairs {
			scores[p.difference] = append(scores[p.difference], cosine(m.of(p.first), m.of(p.second)))
		}
		report(out, m.name, m.thresholds, scores)
	}
	return nil
}

// report prints, for each kind of difference, the share of pairs whose score is at or above each threshold.
func report(out io.Writer, name string, thresholds []float64, scores map[string][]float64) {
	differences := slices.DeleteFunc(slices.Sorted(maps.Keys(scores)), func(d string) bool { return d == same })
	var wrong []float64
	fmt.Fprintf(out, "%s\n%9s %9s %10s", name, "threshold", "true hits", "false hits")
	for _, d := range differences {
		wrong = append(wrong, scores[d]...)
		fmt.Fprintf(out, " %12s", fmt.Sprintf("%s (%d)", d, len(scores[d])))
	}
	share := func(list []float64, threshold float64) string {
		hits := 0
		for _, score := range list {
			if score >= threshold {
				hits++
			}
		}
		return fmt.Sprintf("%.1f %%", 100*float64(hits)/float64(len(list)))
	}
	for _, t := range thresholds {
		fmt.Fprintf(out, "\n%9g %9s %10s", t, share(scores[same], t), share(wrong, t))
		for _, d := range differences {
			fmt.Fprintf(out, " %12s", share(scores[d], t))
		}
	}
	fmt.Fprint(out, "\n\n")
}

func main() {
	flag.Parse()
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
