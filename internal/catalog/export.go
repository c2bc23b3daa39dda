package catalog

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Export writes the built-in models and prices as one text: each table after a line such as "-- models.csv --". The models have two more
// columns than the embedded table: quality, which follows from their abilities, and its source.
func Export(w io.Writer) error {
	c, err := Default()
	if err != nil {
		return err
	}
	for _, name := range []string{"models.csv", "offers.csv", "periods.csv", "aliases.csv", "abilities.csv"} {
		text, err := embedded.ReadFile("data/" + name)
		if err != nil {
			return fmt.Errorf("open catalog table: %w", err)
		}
		if name == "models.csv" {
			if text, err = c.withQuality(text); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "-- %s --\n%s", name, text); err != nil {
			return fmt.Errorf("write catalog: %w", err)
		}
	}
	return nil
}

// withQuality adds the columns quality and quality_source to the table of models, after the traits.
func (c *Catalog) withQuality(text []byte) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read catalog table models.csv: %w", err)
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	at := slices.Index(rows[0], "dimensions")
	for i, row := range rows {
		quality, source := "quality", "quality_source"
		if i > 0 {
			if quality, source = "", c.models[row[0]].QualitySource; source != "" {
				quality = strconv.FormatFloat(c.models[row[0]].Quality, 'f', 3, 64)
			}
		}
		_ = w.Write(slices.Insert(row, at, quality, source)) // Flush reports errors; a buffer has none
	}
	w.Flush()
	return out.Bytes(), w.Error()
}
