package catalog

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"fairlead.dev/internal/money"
)

// TableNames returns the names of the model and price tables, in the order of a catalog file. The other
// embedded tables hold rules for vendors and are not part of a catalog file.
func TableNames() []string {
	return []string{"models.csv", "offers.csv", "periods.csv", "aliases.csv", "benchmarks.csv"}
}

// EmbeddedTables returns the text of the embedded model and price tables by name.
func EmbeddedTables() (map[string]string, error) {
	tables := map[string]string{}
	for _, name := range TableNames() {
		text, err := embedded.ReadFile("data/" + name)
		if err != nil {
			return nil, fmt.Errorf("open catalog table: %w", err)
		}
		tables[name] = string(text)
	}
	return tables, nil
}

// maxRate is the highest plausible rate, in dollars per million tokens.
const maxRate = 100_000

// ReadTables parses model and price tables in the format that EmbeddedTables returns. It applies further checks
// because the tables come from outside the program.
func ReadTables(tables map[string]string) (*Catalog, error) {
	if want := slices.Sorted(slices.Values(TableNames())); !slices.Equal(want, slices.Sorted(maps.Keys(tables))) {
		return nil, fmt.Errorf("invalid catalog: the tables must be %v", TableNames())
	}
	if _, err := embeddedRules(); err != nil {
		return nil, err
	}
	c, err := read(tableTexts(tables))
	if err != nil {
		return nil, err
	}
	for _, m := range c.sorted {
		if m.Name == "" || !(m.Quality >= 0 && m.Quality <= 1) {
			return nil, fmt.Errorf("invalid catalog: model %q has no name or a quality outside 0 to 1", m.Name)
		}
	}
	for i := range c.offers {
		o := &c.offers[i]
		switch {
		case o.Provider == "" || o.Upstream == "":
			return nil, fmt.Errorf("invalid catalog: an offer of %s has no provider or no upstream name", o.Model)
		case i > 0 && o.Provider == c.offers[i-1].Provider && o.Model == c.offers[i-1].Model:
			return nil, fmt.Errorf("invalid catalog: %s at %s is listed twice", o.Model, o.Provider)
		case o.Price != nil && !o.Price.wellFormed():
			return nil, fmt.Errorf("invalid catalog: %s at %s has a negative rate or an invalid factor", o.Model, o.Provider)
		case o.Price != nil && max(o.Price.Input, o.Price.Output) > money.PerMillion(maxRate):
			return nil, fmt.Errorf("invalid catalog: %s at %s costs more than $%d per million tokens", o.Model, o.Provider, maxRate)
		}
	}
	return c, nil
}

// tableTexts is a file system with the given tables.
type tableTexts map[string]string

// Open implements fs.FS. It always fails, because the tables are read only with ReadFile.
func (t tableTexts) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// ReadFile implements fs.ReadFileFS.
func (t tableTexts) ReadFile(name string) ([]byte, error) {
	for table, text := range t {
		if name == "data/"+table {
			return []byte(text), nil
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// AsOf returns the latest date of a price, or an empty string if no price has a date.
func (c *Catalog) AsOf() string {
	latest := ""
	for _, o := range c.offers {
		if o.Price != nil {
			latest = max(latest, o.Price.AsOf)
		}
	}
	return latest
}
