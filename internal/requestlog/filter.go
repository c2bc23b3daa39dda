package requestlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/money"
)

// ErrNotFound is returned if no entry of the workspace has the id.
var ErrNotFound = errors.New("request not found")

// ErrTooSlow is returned if a search takes too long.
var ErrTooSlow = errors.New("the search took too long; choose a shorter time range or a narrower filter")

// RejectText returns an error for a filter with Text. Only a list of entries in order of time, newest first, searches their text.
func RejectText(f *Filter) error {
	if f.Text == "" {
		return nil
	}
	return invalid("text", "Parameter text: the text of requests is searched only in a list sorted by time. Remove the parameter.")
}

// WrapTimeout adds ErrTooSlow to the error of a read whose context has timed out.
func WrapTimeout(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrTooSlow, err)
	}
	return err
}

// UnfinishedError is returned with the partial result of a search that reached a limit of time, rows or bytes. It wraps ErrTooSlow.
type UnfinishedError struct {
	Before string // lower ID bound of the search; entries with smaller IDs were not searched
}

func (e *UnfinishedError) Error() string { return ErrTooSlow.Error() }

// Unwrap returns ErrTooSlow.
func (e *UnfinishedError) Unwrap() error { return ErrTooSlow }

// SearchedTo returns the time back to which entries were searched.
func (e *UnfinishedError) SearchedTo() time.Time {
	at, _ := id.Time(e.Before)
	return at.UTC()
}

// Page selects a page of a listing: at most Limit entries older than the entry with the ID Before, newest first. With a Sort, the listing
// has only one page: "cost" selects the most expensive entries, "latency" the slowest entries, and "tokens" the entries with the most
// tokens among the newest 10,000.
type Page struct {
	Before string
	After  string // ID of an entry; if set, the page contains newer entries, oldest first, as needed for live tails
	Limit  int
	Sort   string
	Within time.Duration // maximum duration of a search in time order, which then ends with an UnfinishedError; 0 for the Reader's maximum
	// Figures sets whether to select only the fields from which figures are computed, without attempts, text and tags. It raises the maximum
	// Limit to MaxFigures.
	Figures bool
}

// Reader reads entries. Every call is limited in rows and time.
type Reader interface {
	// Entries lists matching entries without their traces and bodies. With an UnfinishedError, it returns the entries found so far.
	Entries(ctx context.Context, f Filter, p Page) ([]Entry, error)
	// Entry returns one whole entry without its bodies, or ErrNotFound.
	Entry(ctx context.Context, workspaceID, id string) (Entry, error)
	// EntryBody returns the stored bodies, or ErrNotFound if none are stored.
	EntryBody(ctx context.Context, workspaceID, id string) (Body, error)
	// Count estimates the number of matching entries, up to limit. With an UnfinishedError, there may be more.
	Count(ctx context.Context, f Filter, limit int) (int, error)
	// Volumes counts matching entries in time buckets, including empty buckets. It counts the newest entries first. With an
	// UnfinishedError, older entries are not counted.
	Volumes(ctx context.Context, q VolumeQuery) ([]Volume, error)
}

// FigureReader reads figures from roll-ups.
type FigureReader interface {
	// Series returns figures in time buckets.
	Series(ctx context.Context, q SeriesQuery) ([]Bucket, error)
	// Breakdown returns figures by one dimension.
	Breakdown(ctx context.Context, q BreakdownQuery) ([]Group, error)
}

// Writer stores entries. Writing the same entry again changes nothing.
type Writer interface {
	// WriteEntries stores a batch with its ledger rows and roll-ups in one transaction. It must not keep references to the entries, because
	// the caller reuses their bodies. It sets Body.Missing for entries with parts that are not stored.
	WriteEntries(ctx context.Context, entries []Entry) error
}

// RollupFilter is the part of a filter that roll-ups support.
type RollupFilter struct {
	WorkspaceID string
	From, To    time.Time
	Key         []string
	Model       []string
	Provider    []string
	Policy      []string
	Simulated   *bool  // whether the requests were simulated; nil for both
	Source      string // source of the requests: SourceKey or SourcePlayground; empty for both
}

// SeriesQuery selects figures over time.
type SeriesQuery struct {
	RollupFilter
	Step time.Duration // width of a bucket: a minute, an hour or a day; other widths are rounded up to one of these
	// Zone is the time zone of daily buckets (see DayStart); nil for UTC. All days are UTC days if the range begins before the oldest stored
	// hourly roll-ups.
	Zone *time.Location
}

// BreakdownQuery selects figures by model, provider, key or policy.
type BreakdownQuery struct {
	RollupFilter
	By    string // dimension: model, provider, key or policy; empty for a single group
	Limit int
}

// VolumeQuery selects the requests to count over time. The filter must have both From and To.
type VolumeQuery struct {
	Filter
	Step   time.Duration  // width of a bucket
	Zone   *time.Location // time zone of daily buckets (see DayStart); nil for UTC
	Within time.Duration  // time after which counting ends with an UnfinishedError
}

// Volume holds the number of requests that began in one time bucket.
type Volume struct {
	Start     time.Time
	Requests  int64
	Errors    int64
	Fallbacks int64
}

// Figures holds sums over requests. Attempts count for the model and provider that were called, even if another target served the request.
type Figures struct {
	RequestCounts
	Spending
	Tokens
	CacheHits  int64        `json:"cache_hits"`      // number of requests served by the response cache
	CacheSaved money.Amount `json:"cache_saved_usd"` // known cost saved by the response cache
	Quantiles
}

// RequestCounts holds the numbers of requests and attempts.
type RequestCounts struct {
	Requests  int64 `json:"requests"`
	Served    int64 `json:"served"`          // number of requests served by a target; the quantiles include only these requests
	Attempts  int64 `json:"attempts"`        // number of calls made to providers
	Failed    int64 `json:"failed_attempts"` // number of failed attempts
	Errors    int64 `json:"errors"`          // number of upstream errors, gateway errors, partial responses and interruptions
	Rejected  int64 `json:"rejected"`
	Expected  int64 `json:"expected"`
	Fallbacks int64 `json:"fallbacks"`
	Policies  int64 `json:"policies"`
	Priced    int64 `json:"priced"`   // number of requests with a known cost, except hits in the response cache
	Compared  int64 `json:"compared"` // number of requests with a known cost and a known baseline cost
}

// Spending is the cost of requests, and the cost that they would have had on the baseline model.
type Spending struct {
	Cost         money.Amount `json:"cost_usd"`
	ComparedCost money.Amount `json:"compared_cost_usd"` // cost of the requests with a known baseline cost
	BaselineCost money.Amount `json:"baseline_cost_usd"`
}

// Tokens holds sums of token counts. InputTokens includes CachedTokens.
type Tokens struct {
	InputTokens  int64 `json:"input_tokens"`
	CachedTokens int64 `json:"cached_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// Quantiles holds quantiles of latency and time to first token, estimated from histograms with an error of at most 10 %.
type Quantiles struct {
	LatencyP50 int64 `json:"latency_p50_ms"`
	LatencyP95 int64 `json:"latency_p95_ms"`
	TTFTP50    int64 `json:"ttft_p50_ms"`
}

// Bucket holds the Figures of one time bucket.
type Bucket struct {
	Start time.Time `json:"start"`
	Figures
}

// Group holds the Figures of one model, provider, key or policy.
type Group struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
	Figures
}
