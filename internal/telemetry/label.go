package telemetry

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Label values for a missing name and for a name that is not configured.
const (
	none  = "none"
	other = "other"
)

// names holds the allowed label values. It is immutable.
type names struct{ providers, models map[string]bool }

func set(list []string) map[string]bool {
	s := make(map[string]bool, len(list))
	for _, one := range list {
		s[one] = true
	}
	return s
}

func label(value string, known bool) string {
	switch {
	case value == "":
		return none
	case known:
		return value
	}
	return other
}

func (n *names) provider(name string) string { return label(name, n.providers[name]) }

func (n *names) model(name string) string { return label(name, n.models[name]) }

// endpoints lists the endpoints of the model API.
var endpoints = set([]string{
	"audio/speech", "audio/transcriptions", "batchEmbedContents", "batches", "chat/completions", "completions", "countTokens", "embedContent",
	"embeddings", "feedback", "files", "generateContent",
	"images/generations", "messages", "messages/count_tokens", "models", "realtime", "rerank", "responses", "responses/input_tokens", "streamGenerateContent",
})

func outcome(o requestlog.Outcome) string {
	return label(string(o), slices.Contains([]requestlog.Outcome{
		requestlog.OK, requestlog.ClientError, requestlog.UpstreamError, requestlog.Rejected, requestlog.Cancelled,
		requestlog.Partial, requestlog.Interrupted, requestlog.GatewayError,
	}, o))
}

// codes contains all error codes, and classes all failure classes.
var codes, classes = func() (map[string]bool, map[llm.Kind]bool) {
	codes, classes := map[string]bool{}, map[llm.Kind]bool{}
	for _, k := range llm.Kinds() {
		codes[k.Code()], classes[k] = true, true
	}
	return codes, classes
}()
