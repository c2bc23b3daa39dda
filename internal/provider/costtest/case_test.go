package costtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/azure"
	"fairlead.dev/internal/provider/bedrock"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/provider/vertex"
)

// costCase is one file of testdata.
type costCase struct {
	sentence string
	vendor   provider.Vendor
	model    string
	op       llm.Op
	stream   bool
	inputs   int
	at       time.Time
	ends     string // kind of the final error; empty when the response is complete
	header   http.Header
	price    *catalog.Price
	answer   []byte
	totals   map[string]totals
	usage    *llm.Usage // nil when the response reports no valid usage
	ours     bool       // whether the gateway estimates the output tokens, because the file does not state their number
	card     string
	rows     []catalog.Row
	total    money.Amount
}

// totals is a total reported by the provider, written as a sum of its counts.
type totals struct {
	terms []term
	total int64
}

type term struct {
	name, text string
	tokens     int64
}

func readCase(t *testing.T, file string) *costCase {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := reader{t}
	c := &costCase{
		sentence: strings.TrimSpace(string(archive.Comment)), op: llm.Chat, inputs: 1, header: http.Header{}, totals: map[string]totals{},
		at: time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC), model: "m",
	}
	if !strings.HasSuffix(c.sentence, ".") || strings.Contains(c.sentence, "\n") {
		t.Errorf("%q is not one sentence", c.sentence)
	}
	for _, part := range archive.Files {
		name, more, _ := strings.Cut(part.Name, " ")
		switch name {
		case "call":
			r.call(c, string(part.Data))
		case "price":
			c.price = r.price(string(part.Data))
		case "answer":
			c.answer = part.Data
		case "totals":
			r.totals(c, string(part.Data))
		case "usage":
			r.usage(c, string(part.Data))
		case "bill":
			c.card = more
			r.bill(c, string(part.Data))
		default:
			t.Fatalf("unknown part %q", part.Name)
		}
	}
	if c.header.Get("Content-Type") == "application/vnd.amazon.eventstream" {
		c.answer = eventStream(t, string(c.answer))
	}
	return c
}

// reader parses the parts of a file. It fails the test for invalid parts.
type reader struct{ *testing.T }

// lines calls read with the first word and the rest of each line.
func (r reader) lines(text string, read func(word, rest string)) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			word, rest, _ := strings.Cut(line, " ")
			read(word, strings.TrimSpace(rest))
		}
	}
}

func (r reader) call(c *costCase, text string) {
	r.Helper()
	r.lines(text, func(word, rest string) {
		switch word {
		case "vendor":
			c.vendor = r.vendor(rest)
		case "model":
			c.model = rest
		case "embeds":
			c.op, c.inputs = llm.Embed, int(r.number(rest))
		case "streams":
			c.stream = true
		case "at":
			at, err := time.Parse(time.RFC3339, rest)
			if err != nil {
				r.Fatal(err)
			}
			c.at = at
		case "ends":
			c.ends = rest
		case "header":
			name, value, _ := strings.Cut(rest, ": ")
			c.header.Set(name, value)
		default:
			r.Fatalf("unknown word %q in call", word)
		}
	})
}

// vendor returns the vendor with the given name. The name "plain FORMAT" selects an unknown vendor that uses the format.
func (r reader) vendor(name string) provider.Vendor {
	r.Helper()
	switch name {
	case "plain chat":
		return compatible.Plain("plain", "Plain")
	case "plain messages":
		return anthropic.Plain("plain", "Plain")
	}
	for _, v := range []provider.Vendor{anthropic.Vendor, azure.Vendor, bedrock.Vendor, gemini.Vendor, vertex.Vendor} {
		if v.Name == name {
			return v
		}
	}
	row, ok := compatible.Find(name)
	if !ok {
		r.Fatalf("unknown vendor %q", name)
	}
	return row.Vendor()
}

// totals parses lines such as "prompt input_tokens 10 + cache_read_input_tokens 5 = 15".
func (r reader) totals(c *costCase, text string) {
	r.Helper()
	r.lines(text, func(which, rest string) {
		terms, total, found := strings.Cut(rest, " = ")
		if !found || !slices.Contains([]string{"prompt", "output", "total"}, which) {
			r.Fatalf("%s %s is not a sum of prompt, output or total", which, rest)
		}
		sum := totals{total: r.number(total)}
		for one := range strings.SplitSeq(terms, " + ") {
			name, tokens, _ := strings.Cut(one, " ")
			sum.terms = append(sum.terms, term{name, tokens, r.number(tokens)})
		}
		c.totals[which] = sum
	})
}

// usage parses pairs such as "input 10 output 5 tier flex". "none" means that all usage is estimated. "output ours"
// means that only the output is estimated.
func (r reader) usage(c *costCase, text string) {
	r.Helper()
	words := strings.Fields(text)
	if len(words) == 1 && words[0] == "none" {
		return
	}
	u := &llm.Usage{}
	c.usage = u
	into := map[string]*int64{
		"input": &u.Input, "cache_read": &u.CacheRead, "cache_write": &u.CacheWrite, "cache_write_1h": &u.CacheWriteLong,
		"output": &u.Output, "reasoning": &u.Reasoning, "audio_input": &u.AudioInput, "audio_output": &u.AudioOutput, "searches": &u.Searches,
	}
	for i := 0; i < len(words); i++ {
		if words[i] == "estimated" {
			u.Estimated = true
			continue
		}
		if i+1 == len(words) {
			r.Fatalf("%s has no value", words[i])
		}
		name, value := words[i], words[i+1]
		i++
		switch figure := into[name]; {
		case name == "tier":
			u.ServiceTier = value
		case name == "output" && value == ours:
			c.ours = true
		case figure != nil:
			*figure = r.number(value)
		default:
			r.Fatalf("unknown class %q", name)
		}
	}
}

// ours marks an estimated count in a file.
const ours = "ours"

// bill parses lines such as "input 1200 × 3.00/M = 3600000", and checks the arithmetic. Amounts that are not whole
// nano-dollars are written with ≈ instead of =.
func (r reader) bill(c *costCase, text string) {
	r.Helper()
	r.lines(text, func(class, rest string) {
		if rate, found := strings.CutPrefix(rest, ours+" × "); found {
			c.rows = append(c.rows, catalog.Row{Class: class, Rate: r.rate(strings.TrimSuffix(rate, "/M"))})
			return
		}
		sum, text, exact := strings.Cut(rest, "= ")
		if !exact {
			sum, text, _ = strings.Cut(rest, "≈ ")
		}
		amount := money.Amount(r.number(strings.TrimSuffix(text, " + "+ours)))
		if class == "total" {
			c.total = amount
			return
		}
		row := catalog.Row{Class: class, Amount: amount}
		if class != "request" {
			tokens, rate, _ := strings.Cut(strings.TrimSpace(sum), " × ")
			row.Tokens, row.Rate = r.number(tokens), r.rate(strings.TrimSuffix(rate, "/M"))
			worked, rounded := product(row.Tokens, row.Rate)
			if worked != amount || rounded == exact {
				r.Errorf("%s %s: %s × %s is %d (rounded: %t)", class, rest, tokens, rate, worked, rounded)
			}
		}
		c.rows = append(c.rows, row)
	})
	var sum money.Amount
	for _, row := range c.rows {
		sum += row.Amount
	}
	if sum != c.total {
		r.Errorf("the rows of the file sum to %d, want the total %d", sum, c.total)
	}
}

func (r reader) number(text string) int64 {
	r.Helper()
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

func (r reader) rate(text string) money.Rate {
	r.Helper()
	amount, err := money.Parse(text)
	if err != nil {
		r.Fatal(err)
	}
	return money.Rate(amount)
}
