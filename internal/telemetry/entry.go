package telemetry

import (
	"context"
	"log/slog"
	"time"

	"fairlead.dev/internal/requestlog"
)

// LogEntry logs one line about a finished request with its result and cost, but without content.
func LogEntry(logger *slog.Logger, e *requestlog.Entry) {
	if !logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	var space [28]slog.Attr // the array stays on the stack, because the logger copies attributes
	logger.LogAttrs(context.Background(), slog.LevelInfo, "request", appendAttrs(space[:0], e)...)
}

// appendAttrs appends the attributes of an entry's log line. Empty strings and unknown amounts are omitted.
func appendAttrs(attrs []slog.Attr, e *requestlog.Entry) []slog.Attr {
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, shorten(value)))
		}
	}
	add("id", e.ID)
	add("workspace", e.WorkspaceID)
	add("key", e.KeyID)
	add("account", e.AccountID)
	add("endpoint", e.Endpoint)
	add("outcome", string(e.Outcome))
	attrs = append(attrs, slog.Int("status", e.Status))
	if e.Error != nil {
		add("code", e.Error.Code)
		add("origin", string(e.Error.Origin))
	}
	add("requested", e.Requested)
	add("model", e.Model)
	add("provider", e.Provider)
	add("decision", string(e.DecisionKind))
	add("policy", e.Policy)
	if e.Cache != nil {
		add("cache", string(e.Cache.Status))
	}
	attrs = append(attrs, slog.Bool("stream", e.Stream))
	if e.Simulated {
		attrs = append(attrs, slog.Bool("simulated", true))
	}
	attrs = append(attrs, slog.Int("attempts", len(e.Attempts)),
		slog.Float64("latency_ms", milliseconds(e.Latency)), slog.Float64("ttft_ms", milliseconds(e.TTFT)),
		slog.Int64("overhead_us", e.Overhead.Microseconds()))
	if e.Wait > 0 {
		attrs = append(attrs, slog.Float64("wait_ms", milliseconds(e.Wait)))
	}
	attrs = append(attrs, slog.Int64("tokens_in", e.Usage.Prompt()), slog.Int64("tokens_out", e.Usage.Output))
	if e.Cost != nil {
		attrs = append(attrs, slog.String("cost_usd", e.Cost.String()))
	}
	if e.BaselineCost != nil {
		attrs = append(attrs, slog.String("baseline_cost_usd", e.BaselineCost.String()))
	}
	add("trace", e.TraceID)
	return attrs
}

// shorten truncates client text for a log line.
func shorten(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	runes := []rune(text[:longest])
	return string(runes[:len(runes)-1]) + "…"
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond).Microseconds()) / 1000
}
