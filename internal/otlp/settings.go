package otlp

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"fairlead.dev/internal/config"
)

// OTLP protocols.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

// Settings selects the exported signals and their protocol. The exporters read other settings, such as certificates and compression, from
// the standard OTEL_* variables.
type Settings struct {
	Traces  bool
	Metrics bool
	Config  config.Telemetry
	Version string // version of the gateway

	traceProtocol, metricProtocol string
	sampler                       sdktrace.Sampler
	queue, batch                  int // queue length in requests, and batch size in spans
	delay, timeout                time.Duration
}

// Resolve combines the configuration with the standard OTEL_* variables, which apply where the configuration has no value. Nothing is
// exported without an endpoint.
func Resolve(c config.Telemetry, env func(string) string) (Settings, error) {
	s := Settings{Config: c, queue: 2048, batch: 512, delay: 5 * time.Second, timeout: 30 * time.Second}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return s, nil
	}
	shared := c.Endpoint != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	s.Traces = c.Traces && selected(env("OTEL_TRACES_EXPORTER")) && (shared || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "")
	s.Metrics = c.Metrics && selected(env("OTEL_METRICS_EXPORTER")) && (shared || env("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") != "")
	var err error
	if s.traceProtocol, err = protocol(c.Protocol, env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"); err != nil {
		return s, err
	}
	if s.metricProtocol, err = protocol(c.Protocol, env, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"); err != nil {
		return s, err
	}
	if s.sampler, err = sampler(c.SampleRatio, env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		return s, err
	}
	s.queue = number(env("OTEL_BSP_MAX_QUEUE_SIZE"), s.queue)
	s.batch = number(env("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"), s.batch)
	s.delay = time.Duration(number(env("OTEL_BSP_SCHEDULE_DELAY"), int(s.delay/time.Millisecond))) * time.Millisecond
	s.timeout = time.Duration(number(env("OTEL_BSP_EXPORT_TIMEOUT"), int(s.timeout/time.Millisecond))) * time.Millisecond
	return s, nil
}

// selected reports whether a list of exporters includes OTLP, which is the default.
func selected(exporters string) bool {
	if exporters == "" {
		return true
	}
	for name := range strings.SplitSeq(exporters, ",") {
		if strings.TrimSpace(name) == "otlp" {
			return true
		}
	}
	return false
}

func protocol(configured string, env func(string) string, own string) (string, error) {
	if configured != "auto" && configured != "" {
		return configured, nil
	}
	for _, name := range []string{own, "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch value := env(name); value {
		case "":
		case protocolHTTP, protocolGRPC:
			return value, nil
		default:
			return "", fmt.Errorf("%s: unsupported protocol %q, use %s or %s", name, value, protocolHTTP, protocolGRPC)
		}
	}
	return protocolHTTP, nil
}

// sampler returns the sampler for a configured ratio below 1, otherwise the sampler that the variables select.
func sampler(ratio float64, name, argument string) (sdktrace.Sampler, error) {
	if ratio < 1 {
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio)), nil
	}
	share := 1.0
	if argument != "" && strings.HasSuffix(name, "traceidratio") {
		parsed, err := strconv.ParseFloat(argument, 64)
		if err != nil || !(parsed >= 0 && parsed <= 1) {
			return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is not a number from 0 to 1", argument)
		}
		share = parsed
	}
	switch name {
	case "", "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(share), nil
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample()), nil
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share)), nil
	}
	return nil, fmt.Errorf("OTEL_TRACES_SAMPLER: unknown sampler %q", name)
}

// number parses a positive number; an invalid one is ignored, as the specification requires.
func number(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= 1_000_000 {
		return n
	}
	return otherwise
}
