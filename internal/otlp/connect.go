package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// refuseRedirect selects the usual proxy and fails for a redirected request: another host must not receive the key and the content. The
// exporters have no other hook that keeps their certificates and timeouts.
func refuseRedirect(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errors.New("the collector redirects exports, which is not supported; configure the address of the redirect")
	}
	return http.ProxyFromEnvironment(r)
}

// traceExporter returns the span exporter. It connects on the first export.
func (s Settings) traceExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	endpoint, headers := strings.TrimSuffix(s.Config.Endpoint, "/"), s.Config.Headers
	if s.traceProtocol == protocolGRPC {
		var options []otlptracegrpc.Option
		if endpoint != "" {
			options = append(options, otlptracegrpc.WithEndpointURL(endpoint))
		}
		if len(headers) > 0 {
			options = append(options, otlptracegrpc.WithHeaders(headers))
		}
		return otlptracegrpc.New(ctx, options...)
	}
	options := []otlptracehttp.Option{otlptracehttp.WithProxy(refuseRedirect)}
	if endpoint != "" {
		options = append(options, otlptracehttp.WithEndpointURL(endpoint+"/v1/traces"))
	}
	if len(headers) > 0 {
		options = append(options, otlptracehttp.WithHeaders(headers))
	}
	return otlptracehttp.New(ctx, options...)
}

// metricExporter returns the metric exporter.
func (s Settings) metricExporter(ctx context.Context) (sdkmetric.Exporter, error) {
	endpoint, headers := strings.TrimSuffix(s.Config.Endpoint, "/"), s.Config.Headers
	if s.metricProtocol == protocolGRPC {
		var options []otlpmetricgrpc.Option
		if endpoint != "" {
			options = append(options, otlpmetricgrpc.WithEndpointURL(endpoint))
		}
		if len(headers) > 0 {
			options = append(options, otlpmetricgrpc.WithHeaders(headers))
		}
		return otlpmetricgrpc.New(ctx, options...)
	}
	options := []otlpmetrichttp.Option{otlpmetrichttp.WithProxy(refuseRedirect)}
	if endpoint != "" {
		options = append(options, otlpmetrichttp.WithEndpointURL(endpoint+"/v1/metrics"))
	}
	if len(headers) > 0 {
		options = append(options, otlpmetrichttp.WithHeaders(headers))
	}
	return otlpmetrichttp.New(ctx, options...)
}

// resource describes the gateway. Attributes in the configuration take precedence over OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
func (s Settings) resource(ctx context.Context, instance string) (*resource.Resource, error) {
	var configured []attribute.KeyValue
	for name, value := range s.Config.ResourceAttributes {
		configured = append(configured, attribute.String(name, value))
	}
	if s.Config.ServiceName != "" {
		configured = append(configured, attribute.String("service.name", s.Config.ServiceName))
	}
	r, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "fairlead"), attribute.String("service.version", s.Version), attribute.String("service.instance.id", instance),
		),
		resource.WithTelemetrySDK(), resource.WithFromEnv(), resource.WithAttributes(configured...))
	if err != nil {
		return nil, fmt.Errorf("create the OpenTelemetry resource: %w", err)
	}
	return r, nil
}
