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
	if h, ok := logger.Handler().(*jsonHandler); ok {
		h.lines.writeEntry(e)
		return
	}
	attrs := make(attrs, 0, 28)
	describe(&attrs, e)
	logger.LogAttrs(context.Background(), slog.LevelInfo, entryMessage, attrs...)
}

// entryMessage is what the line of a request says first.
const entryMessage = "request"

// members are what a line says, one after the other.
type members interface {
	text(name, value string) // nothing for an empty one
	number(name string, n int64)
	decimal(name string, f float64)
	truth(name string, b bool)
	amount(name string, a *money.Amount) // nothing for an unknown one
}

// describe tells what the line of an entry says.
func describe(m members, e *requestlog.Entry) {
	m.text("id", e.ID)
	m.text("workspace", e.WorkspaceID)
	m.text("key", e.KeyID)
	m.text("account", e.AccountID)
	m.text("endpoint", e.Endpoint)
	m.text("outcome", string(e.Outcome))
	m.number("status", int64(e.Status))
	if e.Error != nil {
		m.text("code", e.Error.Code)
		m.text("origin", string(e.Error.Origin))
	}
	m.text("requested", e.Requested)
	m.text("model", e.Model)
	m.text("provider", e.Provider)
	m.text("decision", string(e.DecisionKind))
	m.text("policy", e.Policy)
	m.truth("stream", e.Stream)
	if e.Simulated {
		m.truth("simulated", true)
	}
	m.number("attempts", int64(len(e.Attempts)))
	m.decimal("latency_ms", milliseconds(e.Latency))
	m.decimal("ttft_ms", milliseconds(e.TTFT))
	m.number("overhead_us", e.Overhead.Microseconds())
	if e.Wait > 0 {
		m.decimal("wait_ms", milliseconds(e.Wait))
	}
	m.number("tokens_in", e.Usage.Prompt())
	m.number("tokens_out", e.Usage.Output)
	m.amount("cost_usd", e.Cost)
	m.amount("baseline_cost_usd", e.BaselineCost)
	m.text("trace", e.TraceID)
}

// attrs are the members of a line that slog writes.
type attrs []slog.Attr

func (a *attrs) text(name, value string) {
	if value != "" {
		*a = append(*a, slog.String(name, short(value)))
	}
}

func (a *attrs) number(name string, n int64)    { *a = append(*a, slog.Int64(name, n)) }
func (a *attrs) decimal(name string, f float64) { *a = append(*a, slog.Float64(name, f)) }
func (a *attrs) truth(name string, b bool)      { *a = append(*a, slog.Bool(name, b)) }

func (a *attrs) amount(name string, amount *money.Amount) {
	if amount != nil {
		*a = append(*a, slog.String(name, amount.String()))
	}
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
