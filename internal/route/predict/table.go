package predict

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// column is a quantity that a table estimates.
type column uint8

// The columns of the table for requests. The six families follow familyColumn.
const (
	difficultyColumn   column = iota // 0 trivial, 1 easy, 2 medium, 3 hard
	lengthColumn                     // logarithm of the visible output in tokens
	housekeepingColumn               // 1 for a call that a client makes for itself
	familyColumn
	columns = familyColumn + FamilyCount
)

// The columns of the smaller tables.
const (
	failedColumn   column = 0 // tool results: 1 for a failure
	continueColumn column = 0 // short turns of the user: 1 if the turn continues the task
	complainColumn column = 1 // short turns of the user: 1 if the user says that the request was not fulfilled
)

// table is a linear model. Its estimate is the sum of the weights of the rows that apply to a text.
type table struct {
	offset sums
	steps  []step
	stems  map[string]*row
	levels []float64 // estimates that correspond to the difficulties 0, 1, 2 and 3
}

type sums [columns]float64

func (s *sums) add(w *[columns]float32) {
	for i, v := range w {
		s[i] += float64(v)
	}
}

// row holds the weights of a stem.
type row struct {
	index   int
	weights [columns]float32
}

// step holds the weights of a measure above a threshold.
type step struct {
	measure   measure
	threshold float64
	weights   [columns]float32
}

// The tables are written by train/scorer.py. A row begins with its input: "offset"; a measure with a threshold; the part of the request
// and a stem; or "level", followed by a difficulty.
var (
	//go:embed requests.csv
	requestRows string
	//go:embed results.csv
	resultRows string
	//go:embed replies.csv
	replyRows string

	requests, results, replies = parseTable(requestRows), parseTable(resultRows), parseTable(replyRows)
)

// maxRows limits the number of stems in a table.
const maxRows = 1 << 13

// parseTable reads a table. It panics if the embedded table is malformed.
func parseTable(rows string) *table {
	t := &table{stems: map[string]*row{}}
	first := true
	for line := range strings.Lines(rows) {
		if first { // the names of the columns
			first = false
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), ",")
		var weights [columns]float32
		for i, cell := range cells[1:] {
			w, err := strconv.ParseFloat("0"+strings.TrimPrefix(cell, "-"), 32)
			if err != nil {
				panic(fmt.Sprintf("row %q: %v", line, err))
			}
			if strings.HasPrefix(cell, "-") {
				w = -w
			}
			weights[i] = float32(w)
		}
		input := cells[0]
		name, threshold, isStep := strings.Cut(input, ">")
		switch {
		case input == "offset":
			t.offset.add(&weights)
		case strings.HasPrefix(input, "level "):
			t.levels = append(t.levels, float64(weights[difficultyColumn]))
		case isStep:
			m := slices.Index(measureNames[:], name)
			at, err := strconv.ParseFloat(threshold, 64)
			if m < 0 || err != nil {
				panic(fmt.Sprintf("row %q: unknown measure or threshold", line))
			}
			t.steps = append(t.steps, step{measure(m), at, weights})
		case len(t.stems) == maxRows:
			panic("too many rows")
		default:
			t.stems[input] = &row{len(t.stems), weights}
		}
	}
	return t
}

// estimate returns the estimate for a text alone.
func (t *table) estimate(prefix, text string) sums {
	s := scan(t, prefix, text, nil)
	estimate := t.offset
	s.addTo(&estimate)
	for i := range t.steps {
		if p := &t.steps[i]; s.count[p.measure] > p.threshold {
			estimate.add(&p.weights)
		}
	}
	return estimate
}

// difficulty converts an estimate to the scale of difficulties.
func (t *table) difficulty(estimate float64) float64 {
	last := len(t.levels) - 1
	for i := range last {
		if estimate < t.levels[i+1] || i == last-1 {
			d := float64(i) + (estimate-t.levels[i])/(t.levels[i+1]-t.levels[i])
			return math.Round(100*min(max(d, 0), float64(last))) / 100
		}
	}
	return min(max(estimate, 0), 3)
}

// family returns the family with the highest estimate.
func (s *sums) family() Family {
	best := familyColumn
	for h := familyColumn; h < columns; h++ {
		if s[h] > s[best] {
			best = h
		}
	}
	return Families()[best-familyColumn]
}
