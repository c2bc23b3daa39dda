// Package costtest reads recorded responses of every dialect with the production providers, prices them, and compares
// each row of the bill with manually written arithmetic. The cases are the files in testdata, which can be read,
// checked and added without knowing Go. testdata/README.md describes the parts of a file.
package costtest

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
)

func TestCostOfEveryResponseEqualsTheProvidersBill(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	const promised = 60
	if len(files) < promised {
		t.Errorf("%d cases, want %d or more", len(files), promised)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "testdata/"), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			c.checkTotals(t)
			for _, client := range c.clients() {
				t.Run(client.Name()+" client", func(t *testing.T) {
					t.Parallel()
					c.run(t, client)
				})
			}
		})
	}
}

// clients returns the client formats. The bill is the same for each of them.
func (c *costCase) clients() []wire.Format {
	if c.op == llm.Embed {
		return []wire.Format{openai.Format{}}
	}
	return []wire.Format{openai.Format{}, anthropic.Format{}}
}

func (c *costCase) run(t *testing.T, client wire.Format) {
	t.Helper()
	used, err := c.read(t, client)
	if got := kindOf(err); got != c.ends {
		t.Fatalf("%s\nthe response ends with %q (%v), want %q", c.sentence, got, err, c.ends)
	}
	want := *c // cases are shared by clients
	if c.ours && used != nil {
		want.countOurs(t, used.Output)
	}
	if diff := cmp.Diff(want.usage, used); diff != "" {
		t.Fatalf("%s\nusage (-want +got):\n%s", c.sentence, diff)
	}
	if used != nil {
		want.checkSums(t, *used)
		want.checkBill(t, *used)
	}
}

// countOurs fills in the estimated output if the file does not state it. The test only requires that there is an
// estimate and that it is charged.
func (c *costCase) countOurs(t *testing.T, tokens int64) {
	t.Helper()
	if most := int64(len(c.answer)); tokens <= 0 || tokens > most {
		t.Errorf("%s\nestimated %d output tokens for %d bytes, want 1 to the number of bytes", c.sentence, tokens, most)
	}
	usage := *c.usage
	usage.Output = tokens
	c.usage, c.rows = &usage, slices.Clone(c.rows)
	for i, row := range c.rows {
		if row.Class == "output" {
			c.rows[i].Tokens = tokens
			c.rows[i].Amount, _ = product(tokens, row.Rate)
			c.total += c.rows[i].Amount
		}
	}
}

// read returns the usage that the provider's exchange reports for the response. As in the gateway, the last usage
// applies.
func (c *costCase) read(t *testing.T, client wire.Format) (*llm.Usage, error) {
	t.Helper()
	model := &catalog.Model{Name: c.model, Op: c.op, Abilities: catalog.Common, Context: 1_000_000, MaxOutput: 200_000}
	p := c.vendor.New(provider.Settings{
		Targets: []*provider.Target{{Provider: c.vendor.Name, Model: model, Upstream: c.model, Price: c.price}},
	})
	if len(p.Targets) != 1 {
		t.Fatalf("%s does not serve %s", c.vendor.Name, c.model)
	}
	request, err := client.DecodeRequest(t.Context(), c.op, c.request(client))
	if err != nil {
		t.Fatal(err)
	}
	resp := &http.Response{
		StatusCode: http.StatusOK, Header: c.header.Clone(), ContentLength: -1, Body: io.NopCloser(bytes.NewReader(c.answer)),
	}
	defer resp.Body.Close()
	var used *llm.Usage
	call := &provider.Call{Target: p.Targets[0], Access: provider.Access{Secret: "secret"}, Request: request, Client: client}
	for ev, err := range llm.All(p.Exchange(c.op).Events(call, resp)) {
		if err != nil {
			return used, err
		}
		if ev.Usage != nil {
			latest := *ev.Usage
			used = &latest
		}
	}
	return used, nil
}

// request returns a minimal request that could have produced the response.
func (c *costCase) request(client wire.Format) []byte {
	body := `{"model":"m","input":["one"` + strings.Repeat(`,"more"`, c.inputs-1) + `]}`
	if c.op == llm.Embed {
		return []byte(body)
	}
	body = `{"model":"m","messages":[{"role":"user","content":"Hello"}]`
	if client.Name() == anthropic.Name {
		body += `,"max_tokens":1000`
	}
	if c.stream {
		body += `,"stream":true`
	}
	return []byte(body + "}")
}

func kindOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return string(e.Kind)
	}
	return err.Error()
}

// checkTotals checks that the terms of each total in the file occur in the response and add up to the total. The file must
// contain a prompt total, and a total if the response contains one.
func (c *costCase) checkTotals(t *testing.T) {
	t.Helper()
	for which, sum := range c.totals {
		var added int64
		for _, term := range sum.terms {
			added += term.tokens
			stated := regexp.MustCompile(`"?` + regexp.QuoteMeta(term.name) + `"?\s*:\s*"?` + term.text + `\b`)
			if !stated.Match(c.answer) && !stated.MatchString(headerText(c.header)) {
				t.Errorf("the response does not contain %s %s", term.name, term.text)
			}
		}
		if added != sum.total {
			t.Errorf("%s: the terms sum to %d, want %d", which, added, sum.total)
		}
	}
	if c.usage == nil {
		return
	}
	if _, ok := c.totals["prompt"]; !ok {
		t.Error("the file has no prompt total")
	}
	stated := regexp.MustCompile(`"(total_tokens|totalTokens|totalTokenCount)"`).Match(c.answer)
	if _, ok := c.totals["total"]; stated && !ok {
		t.Error("the response contains a total, but the file does not")
	}
}

func headerText(h http.Header) string {
	var out strings.Builder
	for name, values := range h {
		out.WriteString(name + ": " + strings.Join(values, ", ") + "\n")
	}
	return out.String()
}

// checkSums compares the usage classes with the provider's totals.
func (c *costCase) checkSums(t *testing.T, u llm.Usage) {
	t.Helper()
	for which, got := range map[string]int64{"prompt": u.Prompt(), "output": u.Output, "total": u.Total()} {
		if want, ok := c.totals[which]; ok && want.total != got {
			t.Errorf("%s\nthe usage classes sum to a %s of %d tokens, want %d as reported by the provider",
				c.sentence, which, got, want.total)
		}
	}
	if u.Reasoning > u.Output || u.AudioOutput > u.Output || u.AudioInput > u.Input || u.CacheWriteLong > u.CacheWrite {
		t.Errorf("%s\na part of the usage is larger than its total: %+v", c.sentence, u)
	}
}

func (c *costCase) checkBill(t *testing.T, u llm.Usage) {
	t.Helper()
	card := c.price.At(c.at)
	bill := card.Bill(u)
	var rows []catalog.Row
	var tokens int64
	var sum money.Amount
	for _, row := range bill.Rows {
		tokens += row.Tokens
		sum = sum.Add(row.Amount)
		if row.Tokens == 0 && row.Class != "request" {
			if row.Amount != 0 {
				t.Errorf("%s costs %s without tokens", row.Class, row.Amount)
			}
			continue
		}
		rows = append(rows, row)
	}
	if diff := cmp.Diff(c.rows, rows); diff != "" {
		t.Errorf("%s\nbill (-want +got):\n%s", c.sentence, diff)
	}
	if bill.Total != c.total || sum != bill.Total || card.Cost(u) != bill.Total {
		t.Errorf("%s\ntotal %d, rows sum to %d, cost %d, want %d nano-dollars", c.sentence, bill.Total, sum, card.Cost(u), c.total)
	}
	if bill.Card != c.card {
		t.Errorf("%s\nprice card %q, want %q", c.sentence, bill.Card, c.card)
	}
	if tokens != u.Total() {
		t.Errorf("%s\nthe rows have %d tokens, want %d as in the usage", c.sentence, tokens, u.Total())
	}
}

// product returns tokens × rate in whole nano-dollars, computed without overflow, and whether it was rounded.
func product(tokens int64, rate money.Rate) (amount money.Amount, rounded bool) {
	million := big.NewInt(1_000_000)
	whole, rest := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(tokens), big.NewInt(int64(rate))), million, new(big.Int))
	if rest.Cmp(big.NewInt(500_000)) >= 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return money.Amount(whole.Int64()), rest.Sign() != 0
}
