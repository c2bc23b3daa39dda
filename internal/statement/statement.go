// Package statement writes the monthly statement of a workspace: requests, costs, savings and measured quality, with a checksum
// for each line. Verify recomputes a statement from the request log and reports the lines that differ.
package statement

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
)

// Format is the version of the statement format. It changes when a figure or a checksum is computed in another way.
const Format = 1

// Statement is the statement of a workspace for a month. All times are in UTC.
type Statement struct {
	Format      int       `json:"format" doc:"Version of the format and of the method."`
	Month       string    `json:"month" example:"2026-11"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to" doc:"End of the period. Before the end of the month, it is the time of the statement."`
	Complete    bool      `json:"complete" doc:"Whether the month had ended."`
	CreatedAt   time.Time `json:"created_at"`
	Program     string    `json:"program" doc:"Version of the program."`
	WorkspaceID string    `json:"workspace_id"`
	Workspace   string    `json:"workspace" doc:"Name of the workspace."`
	Simulated   bool      `json:"simulated" doc:"Whether simulated requests are included."`

	Total  Line   `json:"total"`
	Models []Line `json:"models" doc:"By model that served the request, highest cost first."`
	Keys   []Line `json:"keys" doc:"By API key, highest cost first."`
	Days   []Line `json:"days" doc:"By day, oldest first."`

	Quality        *Quality      `json:"quality,omitempty" doc:"Measured quality. Absent if comparison is off."`
	ComparisonCost *money.Amount `json:"comparison_cost_usd" doc:"Cost of the comparison calls, which is not part of the total. null if unknown." nullable:"true"`

	Versions []Version `json:"versions" doc:"Versions that the decisions were computed with."`
	Method   []string  `json:"method" doc:"How the figures are computed."`
	Checksum string    `json:"checksum" doc:"SHA-256 of the statement as JSON without this field."`

	page []byte // HTML page that Parse has read; nil for JSON
}

// Line is one line of a statement: the sums over a group of requests.
type Line struct {
	Name         string       `json:"name" doc:"Model, ID of the key, or day."`
	Label        string       `json:"label,omitempty" doc:"Name of the key."`
	Requests     int64        `json:"requests"`
	Errors       int64        `json:"errors" doc:"Requests that failed at a provider or in the gateway."`
	Unpriced     int64        `json:"unpriced" doc:"Served requests without a known cost. They are not part of any amount."`
	Input        int64        `json:"input_tokens"`
	Output       int64        `json:"output_tokens"`
	Cost         money.Amount `json:"cost_usd"`
	WithBaseline int64        `json:"with_baseline" doc:"Requests whose cost and baseline cost are known. Only these are part of the baseline cost and the savings."`
	Baseline     money.Amount `json:"baseline_cost_usd"`
	Saved        money.Amount `json:"saved_usd" doc:"Baseline cost minus cost. Can be negative."`
	Checksum     string       `json:"checksum" doc:"SHA-256 of the requests of this line, newest first."`
}

// Quality is the measured quality difference to the baseline models.
type Quality struct {
	proof.QualityFigures
	Baselines []string             `json:"baselines" doc:"Baseline models of the comparisons, most frequent first."`
	Tasks     []proof.QualityGroup `json:"tasks"`
	Models    []proof.QualityGroup `json:"models"`
	Keys      []proof.QualityGroup `json:"keys"`
	Checksum  string               `json:"checksum" doc:"SHA-256 of the comparisons, newest first."`
}

// Version identifies the data with which routing decisions were computed.
type Version struct {
	Kind     string `json:"kind" doc:"router, catalog, predictor, policies or feedback."`
	Version  string `json:"version"`
	Requests int64  `json:"requests"`
}

// Log reads entries. requestlog.Reader implements it.
type Log interface {
	Entries(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error)
}

// Costs reads the cost of comparisons.
type Costs interface {
	// ComparisonCost returns the cost of the comparisons of requests that were served in the interval [from, to).
	ComparisonCost(ctx context.Context, workspace string, from, to time.Time) (money.Amount, error)
}

// Sources provide the data from which statements are computed.
type Sources struct {
	Log     Log
	Samples proof.Source // nil if comparison is off
	Costs   Costs        // nil if comparison is off
}

// Options selects a statement.
type Options struct {
	WorkspaceID string
	Workspace   string // workspace name
	Month       time.Time
	Now         time.Time
	Program     string // program version
	Simulated   bool   // whether to include simulated requests
}

// ErrFuture is returned for a month that has not started.
var ErrFuture = errors.New("the month has not started")

// ParseMonth parses a month such as 2026-11.
func ParseMonth(text string) (time.Time, error) {
	month, err := time.Parse("2006-01", text)
	if err != nil {
		return month, fmt.Errorf("%q is not a month such as 2026-11", text)
	}
	return month, nil
}

// PreviousMonth returns the start of the month before the month of the given time.
func PreviousMonth(now time.Time) time.Time {
	return time.Date(now.UTC().Year(), now.UTC().Month()-1, 1, 0, 0, 0, 0, time.UTC)
}

// New computes the statement of a month.
func New(ctx context.Context, sources Sources, o Options) (*Statement, error) {
	s := &Statement{
		Format: Format, Month: o.Month.Format("2006-01"), CreatedAt: o.Now.UTC().Truncate(time.Second),
		Program: o.Program, WorkspaceID: o.WorkspaceID, Workspace: o.Workspace, Simulated: o.Simulated, Method: method,
	}
	s.setPeriod(o.Month)
	if !o.Now.After(s.From) {
		return nil, ErrFuture
	}
	if err := s.compute(ctx, sources); err != nil {
		return nil, err
	}
	s.Checksum = s.sum()
	return s, nil
}

// setPeriod sets From, To and Complete. If the month had not ended at s.CreatedAt, the period ends at that time.
func (s *Statement) setPeriod(month time.Time) {
	s.From, s.To = month, month.AddDate(0, 1, 0)
	s.Complete = !s.CreatedAt.Before(s.To)
	if !s.Complete {
		s.To = s.CreatedAt
	}
}

// method explains how the figures of this format are computed.
var method = []string{
	"Amounts are sums of whole nano-dollars in US dollars, without rounding. An amount that is unknown is counted as unpriced, not as zero.",
	"The cost of a request is its recorded usage at the list price of the provider that served it, including failed attempts that were charged.",
	"The baseline cost is the same usage at the list price of the baseline model that was recorded with the decision. Another model might have used more or fewer tokens.",
	"Savings are the baseline cost minus the cost of the requests for which both are known.",
	"The quality difference is the quality of the routed response minus the quality of the baseline model's response to the same request, on a random sample. " +
		"Each comparison is weighted by the inverse of its sampling probability. Intervals are 95 % confidence sequences by betting, valid at any number of comparisons. " +
		"Groups with fewer than 50 comparisons have no figures.",
	"The checksum of a line is the SHA-256 of its requests, newest first: ID, time, key, requested model, model, provider, decision, policy, outcome, status, tokens, cost, baseline model and baseline cost.",
}

// compute fills the figures from the sources.
func (s *Statement) compute(ctx context.Context, sources Sources) error {
	sums := &sums{
		total: newSummed("total"), models: map[string]*summed{}, keys: map[string]*summed{}, days: map[string]*summed{}, versions: map[Version]int64{},
	}
	if err := s.eachEntry(ctx, sources.Log, sums.add); err != nil {
		return err
	}
	sums.fill(s)
	if sources.Samples == nil {
		return nil
	}
	samples, err := sources.Samples.Samples(ctx, s.WorkspaceID, s.From, s.To)
	if err != nil {
		return fmt.Errorf("read comparisons: %w", err)
	}
	if len(samples) > 0 {
		report := proof.Summarize(samples, 0)
		s.Quality = &Quality{
			QualityFigures: report.QualityFigures, Baselines: report.Baseline, Tasks: report.Tasks, Models: report.Models, Keys: report.Keys, Checksum: sampleChecksum(samples),
		}
	}
	if sources.Costs == nil {
		return nil
	}
	cost, err := sources.Costs.ComparisonCost(ctx, s.WorkspaceID, s.From, s.To)
	if err != nil {
		return fmt.Errorf("read the cost of comparisons: %w", err)
	}
	s.ComparisonCost = &cost
	return nil
}

// sum returns the checksum of the statement.
func (s *Statement) sum() string {
	plain := *s
	plain.Checksum = ""
	text, err := json.Marshal(&plain)
	if err != nil {
		panic(fmt.Sprintf("encode a statement: %v", err)) // unreachable: all fields can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// JSON returns the statement as indented JSON.
func (s *Statement) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// Parse reads a statement from JSON or from a page that HTML wrote. Unknown and repeated members are errors, because Verify would not
// compare them with the log.
func Parse(text []byte) (*Statement, error) {
	var s Statement
	if _, rest, found := bytes.Cut(text, []byte(scriptStart)); found {
		s.page = text
		text, _, _ = bytes.Cut(rest, []byte("</script>"))
	}
	if err := jsonv2.Unmarshal(text, &s, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read statement: %w", err)
	}
	if s.Format != Format {
		return nil, fmt.Errorf("the statement has format %d; this version reads format %d", s.Format, Format)
	}
	return &s, nil
}
