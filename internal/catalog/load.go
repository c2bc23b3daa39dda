package catalog

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
)

//go:embed data/models.csv data/offers.csv data/periods.csv data/aliases.csv data/abilities.csv
//go:embed data/ability_prior.csv data/providers.csv data/vocabularies.csv data/images.csv data/caches.csv data/efforts.csv data/parameters.csv data/searches.csv
var embedded embed.FS

const (
	modelColumns  = "name,vendor,family,op,home,context,max_input,max_output,abilities,traits,dimensions,released,deprecated,open_weights"
	offerColumns  = "model,provider,upstream,needs,context,lacks,input,output,cache_read,cache_write,cache_write_1h,audio_input,audio_output,per_request,tiers,services,hours,source,as_of"
	periodColumns = "model,provider,name,from,until,input,output,cache_read,cache_write,tiers,source,as_of"
	aliasColumns  = "alias,model"
)

// Default loads the embedded tables. It also reports errors in the rule tables.
func Default() (*Catalog, error) {
	if _, err := embeddedRules(); err != nil {
		return nil, err
	}
	return read(embedded)
}

// read parses the tables and checks their consistency.
func read(files fs.FS) (*Catalog, error) {
	sum := sha256.New()
	models := map[string]*Model{}
	err := eachRow(files, "data/models.csv", modelColumns, sum, func(row record) {
		m := row.model()
		if models[m.Name] != nil {
			row.fail("model %q is listed twice", m.Name)
		}
		models[m.Name] = m
	})
	if err != nil {
		return nil, err
	}
	var offers []Offer
	err = eachRow(files, "data/offers.csv", offerColumns, sum, func(row record) {
		o := Offer{
			Model: row.text("model"), Provider: row.text("provider"), Upstream: row.text("upstream"), Needs: row.text("needs"),
			Context: row.number("context"), Unsupported: row.abilities("lacks"),
		}
		if row.text("input") == "" {
			o.Unpriced = row.text("source")
		} else {
			o.Price = row.price()
		}
		if models[o.Model] == nil {
			row.fail("offer of unknown model %q", o.Model)
		}
		offers = append(offers, o)
	})
	if err != nil {
		return nil, err
	}
	if err := readPeriods(files, sum, offers); err != nil {
		return nil, err
	}
	err = eachRow(files, "data/aliases.csv", aliasColumns, sum, func(row record) {
		alias, name := row.text("alias"), row.text("model")
		m := models[name]
		switch {
		case m == nil:
			row.fail("alias %q of unknown model %q", alias, name)
		case models[alias] != nil:
			row.fail("alias %q is the name of a model", alias)
		default:
			m.Aliases = append(m.Aliases, alias)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := readRatings(files, sum, models); err != nil {
		return nil, err
	}
	return index(models, offers, hex.EncodeToString(sum.Sum(nil))[:versionLength]), nil
}

// record is one row of a table. err holds its first error.
type record struct {
	columns map[string]int
	cells   []string
	err     *error
}

// eachRow calls do for every row of a table and writes the table to sum.
func eachRow(files fs.FS, name, columns string, sum io.Writer, do func(record)) error {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("open catalog table: %w", err)
	}
	_, _ = sum.Write(text) // a hash never fails
	r := csv.NewReader(bytes.NewReader(text))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return fmt.Errorf("read catalog table %s: %w", name, err)
	}
	if strings.Join(head, ",") != columns {
		return fmt.Errorf("read catalog table %s: unexpected columns", name)
	}
	row := record{columns: map[string]int{}}
	for i, column := range head {
		row.columns[column] = i
	}
	for {
		row.cells, err = r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read catalog table %s: %w", name, err)
		}
		var problem error
		row.err = &problem
		do(row)
		if problem != nil {
			line, _ := r.FieldPos(0)
			return fmt.Errorf("read catalog table %s, line %d: %w", name, line, problem)
		}
	}
}

func (r record) model() *Model {
	m := &Model{
		Name: r.text("name"), Vendor: r.text("vendor"), Family: r.text("family"), Op: llm.Op(r.text("op")), Home: r.text("home"),
		Context: r.number("context"), MaxInput: r.number("max_input"), MaxOutput: r.number("max_output"),
		Abilities: r.abilities("abilities"),
		Released:  r.text("released"), Deprecated: r.boolean("deprecated"), OpenWeights: r.boolean("open_weights"),
	}
	if m.Op != llm.Chat && m.Op != llm.Embed && m.Op != llm.Moderate {
		r.fail("unknown operation %q", m.Op)
	}
	for _, trait := range r.list("traits") {
		switch trait {
		case "fixed_sampling":
			m.FixedSampling = true
		case "completion_tokens":
			m.CompletionTokens = true
		case "tools_need_responses":
			m.ToolsNeedResponses = true
		case "no_stream":
			m.NoStream = true
		default:
			r.fail("unknown trait %q", trait)
		}
	}
	for _, text := range r.list("dimensions") {
		m.Dimensions = append(m.Dimensions, r.parseNumber(text))
	}
	return m
}

func (r record) fail(format string, args ...any) {
	if *r.err == nil {
		*r.err = fmt.Errorf(format, args...)
	}
}

func (r record) text(column string) string { return r.cells[r.columns[column]] }

func (r record) list(column string) []string {
	if text := r.text(column); text != "" {
		return strings.Split(text, "+")
	}
	return nil
}

func (r record) boolean(column string) bool {
	text := r.text(column)
	if text != "" && text != "yes" {
		r.fail("%s is %q, not yes or empty", column, text)
	}
	return text == "yes"
}

func (r record) number(column string) int64 {
	if text := r.text(column); text != "" {
		return r.parseNumber(text)
	}
	return 0
}

func (r record) parseNumber(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		r.fail("%q is not a number above zero", text)
	}
	return n
}

func (r record) abilities(column string) llm.Abilities {
	var all llm.Abilities
	for _, name := range r.list(column) {
		one, err := llm.ParseAbility(name)
		if err != nil {
			r.fail("%w", err)
		}
		all |= one
	}
	return all
}
