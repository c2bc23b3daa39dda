package catalog

import (
	"hash"
	"io/fs"
	"strconv"
	"strings"
)

// familySource is the prefix of QualitySource when the quality is inherited from a predecessor.
const familySource = "family: "

// readBenchmarks loads the models' published benchmark scores. A model newer than the benchmarks inherits the scores of
// the predecessor that its quality comes from.
func readBenchmarks(files fs.FS, sum hash.Hash, models map[string]*Model) error {
	err := eachRow(files, "data/benchmarks.csv", scoreColumns, sum, func(row record) {
		b := row.benchmark()
		m := models[row.text("model")]
		switch {
		case m == nil:
			row.fail("benchmark of unknown model %q", row.text("model"))
			return
		case len(m.Benchmarks) > 0 && m.Benchmarks[len(m.Benchmarks)-1].Name >= b.Name:
			row.fail("benchmark %q of %s is listed twice or out of order", b.Name, m.Name)
		}
		m.Benchmarks = append(m.Benchmarks, b)
	})
	if err != nil {
		return err
	}
	for _, m := range models {
		if len(m.Benchmarks) == 0 {
			m.Benchmarks = inherited(models, m)
		}
	}
	return nil
}

// inherited returns the predecessor's scores.
func inherited(models map[string]*Model, m *Model) []Benchmark {
	name, ok := strings.CutPrefix(m.QualitySource, familySource)
	if kin := models[name]; ok && kin != nil && !strings.HasPrefix(kin.QualitySource, familySource) {
		return kin.Benchmarks
	}
	return nil
}

func (r record) benchmark() Benchmark {
	b := Benchmark{Name: r.text("benchmark"), Source: r.text("source"), AsOf: r.text("as_of")}
	if b.Name == "" || b.Source == "" || b.AsOf == "" {
		r.fail("a benchmark needs a name, a source and a date")
	}
	value, err := strconv.ParseFloat(r.text("value"), 64)
	if err != nil || !(value >= 0 && value <= 1) {
		r.fail("value %q is not a number from 0 to 1", r.text("value"))
	}
	b.Value = value
	return b
}
