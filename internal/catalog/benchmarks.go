package catalog

import (
	"hash"
	"io/fs"
	"strconv"
)

// readBenchmarks loads the models' published benchmark scores.
func readBenchmarks(files fs.FS, sum hash.Hash, models map[string]*Model) error {
	return eachRow(files, "data/benchmarks.csv", scoreColumns, sum, func(row record) {
		b := Benchmark{Name: row.text("benchmark"), Source: row.text("source"), AsOf: row.text("as_of")}
		if b.Name == "" || b.Source == "" || b.AsOf == "" {
			row.fail("a benchmark needs a name, a source and a date")
		}
		value, err := strconv.ParseFloat(row.text("value"), 64)
		if err != nil || !(value >= 0 && value <= 1) {
			row.fail("value %q is not a number from 0 to 1", row.text("value"))
		}
		b.Value = value
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
}
