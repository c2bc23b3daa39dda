package chat

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// provider reads the wishes about providers. Members of other gateways that mean nothing here are let through.
func (d *decoder) provider(w *llm.ProviderPreferences) {
	if !d.is('{', "provider", "an object") {
		return
	}
	for key := range d.Members {
		switch string(key) {
		case "order":
			w.Order = d.names("provider.order")
		case "only":
			w.Only = d.names("provider.only")
		case "ignore":
			w.Ignore = d.names("provider.ignore")
		case "allow_fallbacks":
			w.NoFallbacks = !d.SkipNull() && !d.boolean("provider.allow_fallbacks")
		case "require_parameters":
			w.RequireParameters = d.boolean("provider.require_parameters")
		case "best_effort":
			w.BestEffort = d.boolean("provider.best_effort")
		case "sort":
			w.Sort = d.oneOf("provider.sort", "price", "latency", "throughput")
		case "max_price":
			w.MaxPrice = d.maxPrice()
		case "data_collection":
			w.DenyCollection = d.oneOf("provider.data_collection", "allow", "deny") == "deny"
		case "zdr":
			w.ZeroRetention = d.boolean("provider.zdr")
		default:
			d.rejectLookAlikes("provider.", key, "order", "only", "ignore", "allow_fallbacks", "require_parameters", "best_effort", "sort",
				"max_price", "data_collection", "zdr")
		}
	}
}

// oneOf reads a string out of a closed list.
func (d *decoder) oneOf(param string, allowed ...string) string {
	s, ok := d.str(param)
	if !ok {
		return ""
	}
	if slices.Contains(allowed, s) {
		return s
	}
	d.problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
	return ""
}

func (d *decoder) maxPrice() *llm.MaxPrice {
	if !d.is('{', "provider.max_price", "an object") {
		return nil
	}
	limit := &llm.MaxPrice{}
	for key := range d.Members {
		switch string(key) {
		case "prompt":
			limit.Prompt = d.price("provider.max_price.prompt")
		case "completion":
			limit.Completion = d.price("provider.max_price.completion")
		default:
			d.rejectLookAlikes("provider.max_price.", key, "prompt", "completion")
		}
	}
	return limit
}

// price reads a number of dollars, which clients send as a number or as a string.
func (d *decoder) price(param string) *float64 {
	var raw string
	switch d.Kind() {
	case '0':
		raw = string(d.Number())
	case '"':
		raw = string(d.Unquote(d.ReadString()))
	case 'n':
		d.Literal("null")
		return nil
	default:
		d.wrong(param, "a number of dollars per million tokens")
		return nil
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		d.problem(param, "%s must be a number of dollars per million tokens, at least 0; it is %s.", param, show.Quote(raw))
		return nil
	}
	return &f
}
