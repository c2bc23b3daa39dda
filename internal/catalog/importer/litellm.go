package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// readLiteLLM parses an object of models by name. Prices are in dollars per token.
func readLiteLLM(text []byte) ([]Row, error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("unexpected format: %w", err)
	}
	providers := map[string]catalog.Provider{}
	for _, p := range catalog.ListedProviders() {
		for _, name := range p.LiteLLM {
			providers[name] = p
		}
	}
	var rows []Row
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		var e liteLLMEntry
		if json.Unmarshal(entries[key], &e.fields) != nil {
			continue // entries such as sample_spec and rules are not models
		}
		provider, known := providers[e.text("litellm_provider")]
		if !known {
			continue
		}
		if row, ok := e.row(provider, key); ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// liteLLMEntry is the entry of one model in the list. Fields are decoded individually, because the list has several hundred fields and
// some have the wrong type.
type liteLLMEntry struct{ fields map[string]json.RawMessage }

func (e liteLLMEntry) row(provider catalog.Provider, key string) (Row, bool) {
	op, needs := llm.Chat, ""
	switch e.text("mode") {
	case "chat":
	case "responses":
		needs = "responses"
	case "embedding":
		op = llm.Embed
	default:
		return Row{}, false
	}
	if key == "sample_spec" {
		return Row{}, false
	}
	id, _ := strings.CutPrefix(key, provider.LiteLLMPrefix)
	if provider.LiteLLMRegions && strings.Contains(id, "/") {
		return Row{}, false // a regional price
	}
	row := Row{
		Provider: provider.Name, ID: id, Op: op, Needs: needs, Price: e.price(op),
		Context: whole(e.number("max_input_tokens")), MaxOutput: whole(e.number("max_output_tokens")), Abilities: e.abilities(op),
		Deprecated: e.text("deprecation_date") != "",
	}
	if size := whole(e.number("output_vector_size")); size > 0 {
		row.Dimensions = []int64{size}
	}
	if op == llm.Embed {
		row.MaxOutput = 0
	}
	return row, true
}

func (e liteLLMEntry) text(name string) string {
	var text string
	_ = json.Unmarshal(e.fields[name], &text) // a missing field, or a field of another type, counts as unknown
	return text
}

func (e liteLLMEntry) number(name string) *float64 {
	raw, ok := e.fields[name]
	var n *float64
	if !ok || json.Unmarshal(raw, &n) != nil {
		return nil
	}
	return n
}

func (e liteLLMEntry) rate(name string) *money.Rate { return perMillion(e.number(name), 1) }

// price reads the price. Without a flat price, the first tier is the base.
func (e liteLLMEntry) price(op llm.Op) *catalog.Price {
	base := e.card("")
	p := &catalog.Price{
		CacheRead: base.CacheRead, CacheWrite: base.CacheWrite, CacheWriteLong: e.rate("cache_creation_input_token_cost_above_1hr"),
		AudioInput: e.rate("input_cost_per_audio_token"), AudioOutput: e.rate("output_cost_per_audio_token"), Source: LiteLLM,
	}
	input, output := e.rate("input_cost_per_token"), e.rate("output_cost_per_token")
	ranges := e.ranges()
	if input == nil && len(ranges) > 0 && ranges[0].Above == 0 {
		input, output, ranges = &ranges[0].Input, &ranges[0].Output, ranges[1:]
	}
	if op == llm.Embed && output == nil {
		output = new(money.Rate(0))
	}
	if input == nil || output == nil {
		return nil
	}
	p.Input, p.Output = *input, *output
	if fee := e.rate("input_cost_per_request"); fee != nil {
		p.PerRequest = money.Amount(*fee / 1_000_000) // rate multiplies by a million, but the fee is for one request
	}
	p.Tiers = append(e.tiers(), ranges...)
	for _, one := range []struct{ name, suffix string }{{"flex", "flex"}, {"priority", "priority"}, {"batch", "batches"}} {
		if f := factor(e.rate("input_cost_per_token_"+one.suffix), input); f > 0 && f != 1000 && f <= 10_000 {
			p.Services = append(p.Services, catalog.Service{Name: one.name, Factor: f})
		}
	}
	return p
}

// card reads the rates whose field names end in suffix.
func (e liteLLMEntry) card(suffix string) catalog.Tier {
	var t catalog.Tier
	if r := e.rate("input_cost_per_token" + suffix); r != nil {
		t.Input = *r
	}
	if r := e.rate("output_cost_per_token" + suffix); r != nil {
		t.Output = *r
	}
	t.CacheRead, t.CacheWrite = e.rate("cache_read_input_token_cost"+suffix), e.rate("cache_creation_input_token_cost"+suffix)
	return t
}

// aboveField matches the field name of a tier. Variants for service tiers do not match.
var aboveField = regexp.MustCompile(`^input_cost_per_token(_above_(\d{1,6})k_tokens)$`)

func (e liteLLMEntry) tiers() []catalog.Tier {
	var list []catalog.Tier
	for name := range e.fields {
		m := aboveField.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		t := e.card(m[1])
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil || t.Input == 0 || t.Output == 0 {
			continue
		}
		t.Above = n * 1000
		list = append(list, t)
	}
	sortTiers(list)
	return list
}

// ranges reads tiered_pricing, which some models have instead of a flat price.
func (e liteLLMEntry) ranges() []catalog.Tier {
	var steps []struct {
		Range     []float64 `json:"range"`
		Input     *float64  `json:"input_cost_per_token"`
		Output    *float64  `json:"output_cost_per_token"`
		CacheRead *float64  `json:"cache_read_input_token_cost"`
	}
	if json.Unmarshal(e.fields["tiered_pricing"], &steps) != nil {
		return nil
	}
	var list []catalog.Tier
	for _, s := range steps {
		input, output := perMillion(s.Input, 1), perMillion(s.Output, 1)
		if len(s.Range) == 0 || input == nil || output == nil {
			continue
		}
		list = append(list, catalog.Tier{Above: whole(&s.Range[0]), Input: *input, Output: *output, CacheRead: perMillion(s.CacheRead, 1)})
	}
	sortTiers(list)
	return list
}

func sortTiers(list []catalog.Tier) {
	slices.SortFunc(list, func(a, b catalog.Tier) int { return int(a.Above - b.Above) })
}

// abilities returns the abilities that the list marks as supported, and JSON mode, which is assumed. Embedding models have none.
func (e liteLLMEntry) abilities(op llm.Op) llm.Abilities {
	if op == llm.Embed {
		return 0
	}
	all := llm.JSONMode
	for name, ability := range map[string]llm.Abilities{
		"supports_function_calling": llm.Tools, "supports_parallel_function_calling": llm.Tools | llm.ParallelTools,
		"supports_vision": llm.Vision, "supports_pdf_input": llm.Files, "supports_audio_input": llm.AudioIn,
		"supports_response_schema": llm.JSONSchema, "supports_reasoning": llm.Reasoning,
	} {
		var supported bool
		if json.Unmarshal(e.fields[name], &supported) == nil && supported {
			all |= ability
		}
	}
	return all
}
