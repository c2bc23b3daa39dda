package harness

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// Provider is an upstream in a configuration file.
type Provider struct {
	Name       string            `yaml:"name"`
	Vendor     string            `yaml:"vendor,omitempty"`
	Format     string            `yaml:"format"` // format of the API; default chat
	BaseURL    string            `yaml:"base_url"`
	APIKeys    []string          `yaml:"api_keys,omitempty"`
	Options    map[string]string `yaml:"options,omitempty"`
	Concurrent int               `yaml:"concurrent,omitempty"`
	Models     []Model           `yaml:"models"`
}

// Model is a model that a provider offers. Prices are in dollars per million tokens; nil means unknown.
type Model struct {
	Name       string   `yaml:"name"`
	Upstream   string   `yaml:"upstream,omitempty"`
	Kind       string   `yaml:"kind,omitempty"` // chat or embedding
	Input      *float64 `yaml:"input_per_mtok,omitempty"`
	Output     *float64 `yaml:"output_per_mtok,omitempty"`
	CacheRead  *float64 `yaml:"cache_read_per_mtok,omitempty"`
	CacheWrite *float64 `yaml:"cache_write_per_mtok,omitempty"`
	PerRequest *float64 `yaml:"per_request,omitempty"`
	Context    int64    `yaml:"context,omitempty"`
	MaxOutput  int64    `yaml:"max_output,omitempty"`
	Quality    float64  `yaml:"quality,omitempty"`
	Dimensions int64    `yaml:"dimensions,omitempty"`
	Abilities  []string `yaml:"abilities,omitempty"`
}

// Chat returns a chat model with prices.
func Chat(name string, input, output, quality float64) Model {
	return Model{Name: name, Kind: "chat", Input: &input, Output: &output, Context: 128_000, Quality: quality}
}

// Embedding returns an embedding model with a price.
func Embedding(name string, input float64, dimensions int64) Model {
	return Model{Name: name, Kind: "embedding", Input: &input, Dimensions: dimensions, Context: 8_192}
}

// Config returns the text of a configuration file with these providers. more contains additional lines of the file, such as "rescue: off".
func Config(t testing.TB, providers []Provider, more ...string) string {
	t.Helper()
	providers = slices.Clone(providers)
	for i := range providers {
		providers[i].Format = cmp.Or(providers[i].Format, "chat")
	}
	text, err := yaml.Marshal(map[string]any{"providers": providers})
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + strings.Join(more, "\n") + "\n"
}
