// Package bundle reads, compares, signs and verifies catalog files. A catalog file contains the model and price
// tables as a single text document, with its creation time.
package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
)

const (
	// MaxSize is the maximum size of a catalog file.
	MaxSize = 8 << 20

	firstLine   = "fairlead-catalog 1"
	createdLine = "created "
)

// ErrFormat is returned for content without the structure of a catalog file. Missing or invalid tables cause other errors.
var ErrFormat = errors.New("not a catalog file")

// Bundle is a parsed catalog file.
type Bundle struct {
	Created time.Time
	Catalog *catalog.Catalog
	Text    []byte
}

// Format returns a catalog file with the given tables.
func Format(created time.Time, tables map[string]string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s%s\n", firstLine, createdLine, created.UTC().Format(time.RFC3339))
	for _, name := range catalog.TableNames() {
		fmt.Fprintf(&b, "-- %s --\n%s", name, tables[name])
		if !strings.HasSuffix(tables[name], "\n") {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// Parse parses and validates a catalog file.
func Parse(text []byte) (*Bundle, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%w: the file has more than %d bytes", ErrFormat, MaxSize)
	}
	head, rest, _ := strings.Cut(string(text), "\n")
	if head != firstLine {
		return nil, fmt.Errorf("%w: the first line must be %q", ErrFormat, firstLine)
	}
	head, rest, _ = strings.Cut(rest, "\n")
	created, err := time.Parse(time.RFC3339, strings.TrimPrefix(head, createdLine))
	if err != nil || !strings.HasPrefix(head, createdLine) {
		return nil, fmt.Errorf("%w: the second line must be %q and a time such as 2026-11-17T00:00:00Z", ErrFormat, createdLine)
	}
	tables, name := map[string]string{}, ""
	start := 0 // offset of the table's content in rest
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		next := min(at+len(line)+1, len(rest))
		table, opens := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "-- ") // such as "-- models.csv --"
		table, closes := strings.CutSuffix(table, " --")
		if opens && closes {
			if name != "" {
				tables[name] = rest[start:at]
			}
			if _, twice := tables[table]; twice || table == name {
				return nil, fmt.Errorf("%w: table %s occurs twice", ErrFormat, table)
			}
			name, start = table, next
		} else if name == "" {
			return nil, fmt.Errorf("%w: line %q is outside a table", ErrFormat, line[:min(len(line), 60)])
		}
		at = next
	}
	if name != "" {
		tables[name] = rest[start:]
	}
	c, err := catalog.ReadTables(tables)
	if err != nil {
		return nil, err
	}
	return &Bundle{Created: created, Catalog: c, Text: text}, nil
}

// Embedded returns the built-in catalog. Its creation time is the date of its latest price.
func Embedded() (*Bundle, error) {
	c, err := catalog.Default()
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	created, err := time.Parse(time.DateOnly, c.AsOf())
	if err != nil {
		return nil, fmt.Errorf("read the date of the catalog: %w", err)
	}
	return &Bundle{Created: created, Catalog: c}, nil
}
