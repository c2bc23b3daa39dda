package predict

import (
	"fmt"
	"sync"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
)

// Version returns the version of the tables. Features of different versions may differ.
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	return fmt.Sprintf("%016x", xxhash.Sum64String(requestRows+resultRows+replyRows))
})

// Inputs are the inputs of a table, for the trainer in train/.
type Inputs struct {
	Measures map[string]float64 `json:"measures"`
	Stems    []string           `json:"stems"` // keys of the stems, in order and with repetitions
}

// RequestInputs returns the inputs of the table for requests.
func RequestInputs(req *llm.Request) Inputs {
	in := Inputs{Stems: []string{}}
	c, _, _ := readRequest(req, &in.Stems)
	in.setMeasures(c.measures[:])
	return in
}

// TextInputs returns the inputs of the table for results or replies, whose stems have the prefix "result " or "reply ".
func TextInputs(prefix, text string) Inputs {
	in := Inputs{Stems: []string{}}
	s := scan(&table{}, prefix, shorten(text, resultBytes), &in.Stems)
	in.setMeasures(s.count[:])
	return in
}

func (in *Inputs) setMeasures(values []float64) {
	in.Measures = map[string]float64{}
	for m, v := range values {
		if v != 0 {
			in.Measures[measureNames[m]] = v
		}
	}
}
