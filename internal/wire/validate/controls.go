package validate

import (
	"math"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// Controls declares the fields that select the model and the provider in a request of any format.
func Controls[T any](request func(*T) *llm.Request) []Field[T] {
	return []Field[T]{
		Name("model", func(t *T, s string) { request(t).Model = s }),
		Names("models", func(t *T, s []string) { request(t).Controls.Models = s }),
		Nested("provider", providerPreferences, func(t *T) *llm.ProviderPreferences { return &request(t).Controls.Provider }),
		Name("session_id", func(t *T, s string) { request(t).Controls.SessionID = s }),
		Label("service_tier", func(t *T, s string) { request(t).ServiceTier = s }),
	}
}

// providerPreferences declares the members of the provider object. It accepts members that only other gateways support.
var providerPreferences = NewObject(
	Names("order", func(p *llm.ProviderPreferences, s []string) { p.Order = s }),
	Names("only", func(p *llm.ProviderPreferences, s []string) { p.Only = s }),
	Names("ignore", func(p *llm.ProviderPreferences, s []string) { p.Ignore = s }),
	OptionalBool("allow_fallbacks", func(p *llm.ProviderPreferences, b *bool) { p.NoFallbacks = !*b }),
	Bool("require_parameters", func(p *llm.ProviderPreferences, b bool) { p.RequireParameters = b }),
	Bool("best_effort", func(p *llm.ProviderPreferences, b bool) { p.BestEffort = b }),
	OneOf("sort", func(p *llm.ProviderPreferences, s string) { p.Sort = s }, "price", "latency", "throughput"),
	Field[llm.ProviderPreferences]{"max_price", func(r *Reader, param string, p *llm.ProviderPreferences) {
		var limit llm.MaxPrice
		if maxPrice.Read(r, param, &limit) {
			p.MaxPrice = &limit
		}
	}},
	OneOf("data_collection", func(p *llm.ProviderPreferences, s string) { p.DenyCollection = s == "deny" }, "allow", "deny"),
	Bool("zdr", func(p *llm.ProviderPreferences, b bool) { p.ZeroRetention = b }),
)

var maxPrice = NewObject(
	Field[llm.MaxPrice]{"prompt", func(r *Reader, param string, p *llm.MaxPrice) { p.Prompt = r.readPrice(param) }},
	Field[llm.MaxPrice]{"completion", func(r *Reader, param string, p *llm.MaxPrice) { p.Completion = r.readPrice(param) }},
)

// readPrice reads a price in dollars per million tokens, which clients send as a number or as a string.
func (r *Reader) readPrice(param string) *float64 {
	var raw string
	switch r.Kind() {
	case '0':
		raw = string(r.Number())
	case '"':
		raw = string(r.Unquote(r.ReadString()))
	case 'n':
		r.SkipNull()
		return nil
	default:
		r.SkipWrongType(param, "a number of dollars per million tokens")
		return nil
	}
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		r.Problem(param, "%s must be a number of dollars per million tokens, at least 0; it is %s.", param, show.Quote(raw))
		return nil
	}
	return &f
}

// Metadata declares the metadata object, whose members are labels for the log. Values that are not strings are ignored.
func Metadata[T any](request func(*T) *llm.Request) Field[T] {
	return Field[T]{"metadata", func(r *Reader, param string, into *T) {
		if !r.Is('{', param, "an object") {
			return
		}
		req := request(into)
		for key := range r.Members {
			if r.Kind() != '"' {
				continue
			}
			value := string(r.Unquote(r.ReadString()))
			if req.Metadata == nil {
				req.Metadata = make(map[string]string)
			}
			if len(req.Metadata) < maxLabels {
				req.Metadata[show.Cut(string(key), maxLabel)] = show.Cut(value, maxLabel)
			}
		}
	}}
}
