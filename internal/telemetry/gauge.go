package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Circuit is the state of a target's circuit breaker.
type Circuit struct {
	Provider string
	Model    string
	State    CircuitState
}

// CircuitState is the state of a circuit.
type CircuitState string

// The states of a circuit.
const (
	CircuitClosed   CircuitState = "closed"
	CircuitHalfOpen CircuitState = "half_open"
	CircuitOpen     CircuitState = "open"
)

// Sources contains functions that return the values of gauges at each scrape. Each of them may be nil. They must be safe for
// concurrent use.
type Sources struct {
	InFlight     func() int64     // number of model requests being served
	SpoolEntries func() int64     // number of entries waiting for the database
	SpoolBytes   func() int64     // size of these entries on disk in bytes
	Rejected     func() int64     // number of entries that the database rejected
	Circuits     func() []Circuit // circuits of all targets
	ModelLists   func() []ModelList
	// DroppedComparisons returns the number of requests that were not compared because the queue was full or the budget was spent.
	DroppedComparisons func() int64
	Export             func() *Export // state of the export; nil while this replica does not export
}

// Export is the state of the export of the audit log and the request log.
type Export struct {
	Sent, Deleted int64
	Lag           time.Duration // age of the oldest record that is not exported yet
	Failing       bool          // whether the last attempt failed
}

// ModelList is the state of a provider's model list.
type ModelList struct {
	Provider string
	Models   int // number of models in the list
	New      int // number of models that are neither in the catalog nor in the configuration
	Failing  int // number of credentials whose model list could not be fetched
}

// gauges is a collector that reads the sources at each scrape.
type gauges struct {
	metrics *Metrics
	sources Sources
}

var (
	inFlightDesc     = prometheus.NewDesc("fairlead_in_flight_requests", "Model requests being served.", nil, nil)
	spoolEntriesDesc = prometheus.NewDesc("fairlead_spool_entries", "Entries waiting to be written to the database.", nil, nil)
	spoolBytesDesc   = prometheus.NewDesc("fairlead_spool_bytes", "Size of the entries waiting to be written to the database.", nil, nil)
	rejectedDesc     = prometheus.NewDesc("fairlead_spool_rejected_entries", "Entries that the database rejected and that are kept in files.", nil, nil)
	listedDesc       = prometheus.NewDesc("fairlead_listed_models", "Models in the provider's model list.", []string{"provider"}, nil)
	newModelsDesc    = prometheus.NewDesc("fairlead_new_models", "Models in the provider's model list that are neither in the catalog nor in the configuration.", []string{"provider"}, nil)
	listFailingDesc  = prometheus.NewDesc("fairlead_model_list_failing_credentials", "Credentials with which the provider's model list could not be fetched at the last attempt.", []string{"provider"}, nil)
	droppedDesc      = prometheus.NewDesc("fairlead_comparisons_dropped_total", "Requests that were chosen for comparison and not compared, because the queue was full or the budget was spent.", nil, nil)
	exportedDesc     = prometheus.NewDesc("fairlead_export_records_total", "Records that the receiver of the export has confirmed. Only the replica that exports has the series of the export.", nil, nil)
	unexportedDesc   = prometheus.NewDesc("fairlead_export_deleted_records_total", "Records that were deleted from the database before they were exported.", nil, nil)
	exportLagDesc    = prometheus.NewDesc("fairlead_export_lag_seconds", "Age of the oldest record that is not exported yet, 0 without such a record.", nil, nil)
	exportFailDesc   = prometheus.NewDesc("fairlead_export_failing", "1 if the last attempt to export failed, otherwise 0.", nil, nil)
	circuitDesc      = prometheus.NewDesc("fairlead_circuit_state", "1 for the current state of a target's circuit, 0 for other states.", []string{"provider", "model", "state"}, nil)
)

// Describe implements prometheus.Collector.
func (g *gauges) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{inFlightDesc, spoolEntriesDesc, spoolBytesDesc, rejectedDesc, circuitDesc, listedDesc, newModelsDesc, listFailingDesc, droppedDesc, exportedDesc, unexportedDesc, exportLagDesc, exportFailDesc} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	for desc, read := range map[*prometheus.Desc]func() int64{
		inFlightDesc:     g.sources.InFlight,
		spoolEntriesDesc: g.sources.SpoolEntries,
		spoolBytesDesc:   g.sources.SpoolBytes,
		rejectedDesc:     g.sources.Rejected,
	} {
		if read != nil {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(read()))
		}
	}
	if read := g.sources.DroppedComparisons; read != nil {
		out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(read()))
	}
	if g.sources.Export != nil {
		if e := g.sources.Export(); e != nil {
			failing := 0.0
			if e.Failing {
				failing = 1
			}
			out <- prometheus.MustNewConstMetric(exportedDesc, prometheus.CounterValue, float64(e.Sent))
			out <- prometheus.MustNewConstMetric(unexportedDesc, prometheus.CounterValue, float64(e.Deleted))
			out <- prometheus.MustNewConstMetric(exportLagDesc, prometheus.GaugeValue, e.Lag.Seconds())
			out <- prometheus.MustNewConstMetric(exportFailDesc, prometheus.GaugeValue, failing)
		}
	}
	if g.sources.Circuits != nil {
		g.collectCircuits(out)
	}
	if g.sources.ModelLists != nil {
		for _, l := range g.sources.ModelLists() {
			for desc, n := range map[*prometheus.Desc]int{listedDesc: l.Models, newModelsDesc: l.New, listFailingDesc: l.Failing} {
				out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), l.Provider)
			}
		}
	}
}

// collectCircuits exports the circuit states. For targets with the same labels it exports the worst state, because a series may
// occur only once.
func (g *gauges) collectCircuits(out chan<- prometheus.Metric) {
	n := g.metrics.names.Load()
	worst := map[[2]string]CircuitState{}
	severity := map[CircuitState]int{CircuitClosed: 1, CircuitHalfOpen: 2, CircuitOpen: 3}
	for _, c := range g.sources.Circuits() {
		target := [2]string{n.provider(c.Provider), n.model(c.Model)}
		if severity[c.State] > severity[worst[target]] {
			worst[target] = c.State
		}
	}
	for target, now := range worst {
		for _, state := range []CircuitState{CircuitClosed, CircuitHalfOpen, CircuitOpen} {
			value := 0.0
			if state == now {
				value = 1
			}
			out <- prometheus.MustNewConstMetric(circuitDesc, prometheus.GaugeValue, value, target[0], target[1], string(state))
		}
	}
}
