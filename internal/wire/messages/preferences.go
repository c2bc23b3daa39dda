package messages

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

var preferenceNames = []string{
	"order", "only", "ignore", "allow_fallbacks", "require_parameters", "best_effort", "sort", "max_price", "data_collection", "zdr",
}

// provider reads the wishes about providers. Members of other gateways that mean nothing here are let through.
func (d *decoder) provider(v gjson.Result) {
	if !d.is("provider", v, v.IsObject(), "an object") {
		return
	}
	w := &d.req.Controls.Provider
	v.ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		d.lookAlike("provider.", name, preferenceNames)
		param := "provider." + name
		switch name {
		case "order":
			w.Order = d.names(param, value)
		case "only":
			w.Only = d.names(param, value)
		case "ignore":
			w.Ignore = d.names(param, value)
		case "allow_fallbacks":
			w.NoFallbacks = value.Type != gjson.Null && !d.flag(param, value)
		case "require_parameters":
			w.RequireParameters = d.flag(param, value)
		case "best_effort":
			w.BestEffort = d.flag(param, value)
		case "sort":
			w.Sort = d.oneOf(param, value, "price", "latency", "throughput")
		case "max_price":
			w.MaxPrice = d.maxPrice(value)
		case "data_collection":
			w.DenyCollection = d.oneOf(param, value, "allow", "deny") == "deny"
		case "zdr":
			w.ZeroRetention = d.flag(param, value)
		}
		return true
	})
}

// oneOf reads a string out of a closed list.
func (d *decoder) oneOf(param string, v gjson.Result, allowed ...string) string {
	if v.Type == gjson.Null || !d.is(param, v, v.Type == gjson.String, "a string") {
		return ""
	}
	if s := v.String(); slices.Contains(allowed, s) {
		return s
	}
	d.problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(v.String()))
	return ""
}

func (d *decoder) maxPrice(v gjson.Result) *llm.MaxPrice {
	if v.Type == gjson.Null || !d.is("provider.max_price", v, v.IsObject(), "an object") {
		return nil
	}
	v.ForEach(func(key, _ gjson.Result) bool {
		d.lookAlike("provider.max_price.", key.String(), []string{"prompt", "completion"})
		return true
	})
	return &llm.MaxPrice{
		Prompt:     d.price("provider.max_price.prompt", v.Get("prompt")),
		Completion: d.price("provider.max_price.completion", v.Get("completion")),
	}
}

// price reads a number of dollars, which clients send as a number or as a string.
func (d *decoder) price(param string, v gjson.Result) *float64 {
	if v.Type == gjson.Null {
		return nil
	}
	text := v.Raw
	if v.Type == gjson.String {
		text = v.String()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		d.problem(param, "%s must be a number of dollars per million tokens, at least 0; it is %s.", param, show.Quote(text))
		return nil
	}
	return &f
}
