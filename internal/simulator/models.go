package simulator

import (
	"slices"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Provider is the name of the provider that offers the simulated models.
const Provider = "simulator"

const vendor = "Simulated"

// pricesAsOf is the date on which the simulated prices were compared with market prices.
const pricesAsOf = "2026-10-01"

const common = llm.Tools | llm.ParallelTools | llm.JSONMode | llm.JSONSchema | llm.ManyChoices

// profile is one simulated model: its catalog entry and its behaviour.
type profile struct {
	name                  string
	op                    llm.Op
	context, maxOutput    int64
	abilities             llm.Abilities
	quality               float64
	input, output, cached float64 // dollars per million tokens; a negative cached price means no discount
	audioIn, audioOut     float64 // dollars per million tokens of audio; 0 for models without audio
	firstToken            time.Duration
	perSecond             float64 // tokens generated per second
	dimensions            []int64
	fixed                 bool // whether the model rejects sampling fields and max_tokens
}

// profiles returns a typical range of models: quality mostly rises with price, and speed is independent of both.
func profiles() []profile {
	ms := time.Millisecond
	return []profile{
		{
			name: "sim-flagship", op: llm.Chat, context: 400_000, maxOutput: 128_000, abilities: common | llm.Vision | llm.Files,
			quality: 0.93, input: 5, output: 25, cached: 0.5, firstToken: 900 * ms, perSecond: 55,
		},
		{
			name: "sim-large", op: llm.Chat, context: 1_047_576, maxOutput: 32_768, abilities: common | llm.Vision | llm.Logprobs | llm.Prefill,
			quality: 0.86, input: 2, output: 8, cached: 0.5, firstToken: 550 * ms, perSecond: 85,
		},
		{
			name: "sim-reasoner", op: llm.Chat, context: 200_000, maxOutput: 100_000, abilities: common | llm.Reasoning,
			quality: 0.9, input: 1.1, output: 4.4, cached: 0.275, firstToken: 700 * ms, perSecond: 130, fixed: true,
		},
		{
			name: "sim-medium", op: llm.Chat, context: 1_047_576, maxOutput: 32_768, abilities: common | llm.Vision | llm.Logprobs,
			quality: 0.77, input: 0.4, output: 1.6, cached: 0.1, firstToken: 420 * ms, perSecond: 110,
		},
		{
			name: "sim-vision", op: llm.Chat, context: 128_000, maxOutput: 8_192, abilities: llm.JSONMode | llm.ManyChoices | llm.Vision,
			quality: 0.7, input: 0.3, output: 1.2, cached: 0.075, firstToken: 480 * ms, perSecond: 95,
		},
		{
			name: "sim-small", op: llm.Chat, context: 128_000, maxOutput: 16_384, abilities: common | llm.Logprobs | llm.Prefill,
			quality: 0.66, input: 0.1, output: 0.4, cached: 0.025, firstToken: 300 * ms, perSecond: 160,
		},
		{
			name: "sim-nano", op: llm.Chat, context: 32_768, maxOutput: 4_096, abilities: llm.JSONMode | llm.ManyChoices,
			quality: 0.48, input: 0.04, output: 0.12, cached: -1, firstToken: 160 * ms, perSecond: 280,
		},
		{
			name: "sim-embed-large", op: llm.Embed, context: 8_192, quality: 0.65,
			input: 0.13, cached: -1, firstToken: 120 * ms, dimensions: []int64{3072, 1536, 1024, 256},
		},
		{
			name: "sim-embed-small", op: llm.Embed, context: 8_192, quality: 0.6,
			input: 0.02, cached: -1, firstToken: 70 * ms, dimensions: []int64{1536, 1024, 512, 256},
		},
		{
			name: "sim-realtime", op: llm.Realtime, context: 32_000, maxOutput: 4_096,
			quality: 0.7, input: 4, output: 16, cached: 0.4, audioIn: 32, audioOut: 64, firstToken: 250 * ms, perSecond: 120,
		},
		{name: "sim-moderation", op: llm.Moderate, context: 32_768, abilities: llm.Vision, cached: -1, firstToken: 90 * ms},
	}
}

// Models lists the simulated models for the catalog.
func (s *Simulator) Models() []catalog.Model {
	models := make([]catalog.Model, 0, len(s.profiles))
	for _, p := range s.profiles {
		models = append(models, catalog.Model{
			Name: p.name, Vendor: vendor, Family: "simulated", Op: p.op,
			Context: p.context, MaxOutput: p.maxOutput, Abilities: p.abilities,
			FixedSampling: p.fixed, CompletionTokens: p.fixed,
			Quality: p.quality, QualitySource: "simulated", Dimensions: slices.Clone(p.dimensions),
		})
	}
	return models
}

// Offers lists the simulated models with their prices, as offered by Provider.
func (s *Simulator) Offers() []catalog.Offer {
	offers := make([]catalog.Offer, 0, len(s.profiles))
	for _, p := range s.profiles {
		price := &catalog.Price{
			Input: money.PerMillion(p.input), Output: money.PerMillion(p.output), Source: "simulated", AsOf: pricesAsOf,
		}
		if p.cached >= 0 {
			rate := money.PerMillion(p.cached)
			price.CacheRead = &rate
		}
		if p.audioIn > 0 { // audio prices are needed, because a budget rejects realtime sessions without them
			price.AudioInput, price.AudioOutput = new(money.PerMillion(p.audioIn)), new(money.PerMillion(p.audioOut))
		}
		offers = append(offers, catalog.Offer{Model: p.name, Provider: Provider, Upstream: p.name, Price: price})
	}
	return offers
}
