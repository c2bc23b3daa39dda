package telemetry

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Build identifies the build of the running program.
type Build struct {
	Version string
	Commit  string
	Go      string
}

// Metrics counts finished requests and exports the state of the process. It has its own registry.
type Metrics struct {
	registry *prometheus.Registry
	names    atomic.Pointer[names]

	requests  *prometheus.CounterVec
	errors    *prometheus.CounterVec
	latency   *prometheus.HistogramVec
	ttft      *prometheus.HistogramVec
	overhead  prometheus.Histogram
	tokens    *prometheus.CounterVec
	reasoning *prometheus.CounterVec
	costCounters
	flagged  *prometheus.CounterVec
	attempts *prometheus.CounterVec
	cache    *prometheus.CounterVec
	cached   *prometheus.CounterVec
}

// costCounters holds the counters for request costs.
type costCounters struct {
	cost     *prometheus.CounterVec
	compared *prometheus.CounterVec
	baseline *prometheus.CounterVec
	unpriced *prometheus.CounterVec
}

// NewMetrics returns metrics whose gauges are read from sources at each scrape.
func NewMetrics(build Build, sources Sources) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.SetNames(nil, nil)
	m.requests = m.counter("fairlead_requests_total", "Finished requests.", "endpoint", "outcome", "decision", "provider", "model")
	m.errors = m.counter("fairlead_errors_total", "Requests that failed, by error code.", "code", "origin")
	m.latency = m.histogram("fairlead_request_duration_seconds", "Time from the first byte of the request to the last byte of the response.", slow, "endpoint", "provider", "model")
	m.ttft = m.histogram("fairlead_first_token_seconds", "Time from the first byte of the request to the first content of the response.", slow, "provider", "model")
	m.overhead = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fairlead_overhead_seconds", Help: "Time of a request that was not spent waiting for providers.", Buckets: fast})
	m.tokens = m.counter("fairlead_tokens_total", "Tokens by class. Each token is counted in one class.", "provider", "model", "class")
	m.reasoning = m.counter("fairlead_reasoning_tokens_total", "Reasoning tokens. They are also counted as output tokens.", "provider", "model")
	m.cost = m.counter("fairlead_cost_dollars_total", "Estimated cost of requests with a known cost.", "provider", "model")
	m.compared = m.counter("fairlead_compared_cost_dollars_total", "Estimated cost of requests with a known cost and a known baseline cost.", "provider", "model")
	m.baseline = m.counter("fairlead_baseline_cost_dollars_total", "Cost of the compared requests at their baseline model.", "provider", "model")
	m.unpriced = m.counter("fairlead_unpriced_requests_total", "Successful requests with an unknown cost.", "provider", "model")
	m.flagged = m.counter("fairlead_usage_flagged_total", "Requests that were not charged by the usage that the provider reported, by reason.", "provider", "model", "flag")
	m.attempts = m.counter("fairlead_attempts_total", "Calls to targets by failure class, or ok for successful calls.", "provider", "model", "class")
	m.cache = m.counter("fairlead_response_cache_requests_total", "Requests that used the response cache, or asked for it, by status: hit, miss or bypass.", "endpoint", "status")
	m.cached = m.counter("fairlead_response_cache_saved_dollars_total", "Cost that hits of the response cache saved.", "provider", "model")
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "fairlead_build_info",
		Help:        "Always 1. The labels identify the build.",
		ConstLabels: prometheus.Labels{"version": build.Version, "commit": build.Commit, "go": build.Go},
	})
	info.Set(1)
	m.registry.MustRegister(
		m.overhead,
		info,
		&gauges{metrics: m, sources: sources},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// SetNames sets the names of configured providers and models. Other names are labelled "other", so that clients cannot increase
// the number of series.
func (m *Metrics) SetNames(providers, models []string) {
	m.names.Store(&names{providers: set(providers), models: set(models)})
}

// Handler serves the metrics in the Prometheus text format. It does not authenticate clients, so do not use it on public
// listeners.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Register adds metrics of other components.
func (m *Metrics) Register(more ...prometheus.Collector) { m.registry.MustRegister(more...) }

// Gather implements prometheus.Gatherer.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

// Observe updates the metrics for a finished request.
func (m *Metrics) Observe(e *requestlog.Entry) {
	n := m.names.Load()
	endpoint, provider, model := label(e.Endpoint, endpoints[e.Endpoint]), n.provider(e.Provider), n.model(e.Model)
	kind := e.DecisionKind
	decision := label(string(kind), kind == route.Expected || kind == route.Fallback || kind == route.Policy)
	m.requests.WithLabelValues(endpoint, outcome(e.Outcome), decision, provider, model).Inc()
	if e.Error != nil {
		from := e.Error.Origin
		origin := label(string(from), from == llm.FromClient || from == llm.FromGateway || from == llm.FromPolicy || from == llm.FromProvider)
		m.errors.WithLabelValues(label(e.Error.Code, codes[e.Error.Code]), origin).Inc()
	}
	m.latency.WithLabelValues(endpoint, provider, model).Observe(e.Latency.Seconds())
	if e.TTFT > 0 {
		m.ttft.WithLabelValues(provider, model).Observe(e.TTFT.Seconds())
	}
	m.overhead.Observe(e.Overhead.Seconds())
	u := e.Usage
	for _, one := range [...]struct {
		class  string
		tokens int64
	}{{"input", u.Input}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}, {"output", u.Output}} {
		if one.tokens > 0 {
			m.tokens.WithLabelValues(provider, model, one.class).Add(float64(one.tokens))
		}
	}
	if u.Reasoning > 0 {
		m.reasoning.WithLabelValues(provider, model).Add(float64(u.Reasoning))
	}
	m.observeCost(e, provider, model)
	if e.UsageFlag != "" {
		m.flagged.WithLabelValues(provider, model, string(e.UsageFlag)).Inc()
	}
	if c := e.Cache; c != nil {
		m.cache.WithLabelValues(endpoint, string(c.Status)).Inc()
		if c.Saved != nil {
			m.cached.WithLabelValues(provider, model).Add(max(0, c.Saved.Dollars()))
		}
	}
	for _, a := range e.Attempts {
		class := "ok"
		if a.Class != "" {
			class = label(string(a.Class), classes[a.Class])
		}
		m.attempts.WithLabelValues(n.provider(a.Provider), n.model(a.Model), class).Inc()
	}
}

// observeCost adds costs as floats, which are accurate enough for charts. The ledger has the exact sums.
func (c *costCounters) observeCost(e *requestlog.Entry, provider, model string) {
	if e.Cost == nil {
		if e.Outcome == requestlog.OK {
			c.unpriced.WithLabelValues(provider, model).Inc()
		}
		return
	}
	add := func(counter *prometheus.CounterVec, dollars float64) {
		counter.WithLabelValues(provider, model).Add(max(0, dollars)) // counters must not decrease
	}
	add(c.cost, e.Cost.Dollars())
	if e.BaselineCost != nil {
		add(c.compared, e.Cost.Dollars())
		add(c.baseline, e.BaselineCost.Dollars())
	}
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Histogram bounds in seconds. Models take seconds, and the gateway takes microseconds to milliseconds.
var (
	slow = []float64{0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3, 6, 12, 25, 50, 100, 300, 600}
	fast = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5}
)
