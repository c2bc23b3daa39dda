package telemetry

import (
	"context"
	"log/slog"
	"time"

	"fairlead/internal/money"
	"fairlead/internal/requestlog"
)

// LogEntry writes one line about a finished request: what happened and what it cost, nothing of what was said.
func LogEntry(logger *slog.Logger, e *requestlog.Entry) {
	if !logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 28)
	add := func(a slog.Attr) { attrs = append(attrs, a) }
	text := func(name, value string) {
		if value != "" {
			add(slog.String(name, short(value)))
		}
	}
	text("id", e.ID)
	text("workspace", e.WorkspaceID)
	text("key", e.KeyID)
	text("account", e.AccountID)
	text("endpoint", e.Endpoint)
	text("outcome", string(e.Outcome))
	add(slog.Int("status", e.Status))
	if e.Error != nil {
		text("code", e.Error.Code)
		text("origin", string(e.Error.Origin))
	}
	text("requested", e.Requested)
	text("model", e.Model)
	text("provider", e.Provider)
	text("decision", string(e.DecisionKind))
	text("policy", e.Policy)
	add(slog.Bool("stream", e.Stream))
	if e.Simulated {
		add(slog.Bool("simulated", true))
	}
	add(slog.Int("attempts", len(e.Attempts)))
	add(slog.Float64("latency_ms", milliseconds(e.Latency)))
	add(slog.Float64("ttft_ms", milliseconds(e.TTFT)))
	add(slog.Int64("overhead_us", e.Overhead.Microseconds()))
	add(slog.Int64("tokens_in", e.Usage.Prompt()))
	add(slog.Int64("tokens_out", e.Usage.Output))
	amount := func(name string, a *money.Amount) {
		if a != nil {
			add(slog.String(name, a.String()))
		}
	}
	amount("cost_usd", e.Cost)
	amount("baseline_cost_usd", e.BaselineCost)
	text("trace", e.TraceID)
	logger.LogAttrs(context.Background(), slog.LevelInfo, "request", attrs...)
}

// short bounds what a caller can put into a line by naming a model a megabyte long.
func short(text string) string {
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
