package importer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// readModelsDev parses an object of providers with their models. Prices are in dollars per million tokens. Subscription
// plans, such as coding plans, are listed as separate providers and are skipped.
func readModelsDev(text []byte) ([]Row, error) {
	var providers map[string]json.RawMessage
	if err := json.Unmarshal(text, &providers); err != nil {
		return nil, fmt.Errorf("unexpected format: %w", err)
	}
	names := map[string]string{}
	for _, p := range catalog.ListedProviders() {
		for _, id := range p.ModelsDev {
			names[id] = p.Name
		}
	}
	var rows []Row
	for _, id := range slices.Sorted(maps.Keys(providers)) {
		name := names[id]
		var provider struct {
			Models map[string]json.RawMessage `json:"models"`
		}
		if name == "" || json.Unmarshal(providers[id], &provider) != nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(provider.Models)) {
			m := modelsDevModel{ID: key}
			if json.Unmarshal(provider.Models[key], &m) == nil {
				rows = append(rows, m.row(name))
			}
		}
	}
	return rows, nil
}

type modelsDevModel struct {
	ID               string `json:"id"`
	Family           string `json:"family"`
	Reasoning        bool   `json:"reasoning"`
	ToolCall         bool   `json:"tool_call"`
	StructuredOutput bool   `json:"structured_output"`
	Status           string `json:"status"`
	Modalities       struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context *float64 `json:"context"`
		Output  *float64 `json:"output"`
	} `json:"limit"`
	Cost     *modelsDevCost `json:"cost"`
	Provider struct {
		Shape string `json:"shape"`
	} `json:"provider"`
	Experimental struct {
		Modes map[string]struct {
			Cost *modelsDevCost `json:"cost"`
		} `json:"modes"`
	} `json:"experimental"`
}

type modelsDevCost struct {
	Input       *float64        `json:"input"`
	Output      *float64        `json:"output"`
	CacheRead   *float64        `json:"cache_read"`
	CacheWrite  *float64        `json:"cache_write"`
	InputAudio  *float64        `json:"input_audio"`
	OutputAudio *float64        `json:"output_audio"`
	Tiers       []modelsDevTier `json:"tiers"`
	Over200k    *modelsDevCost  `json:"context_over_200k"`
}

type modelsDevTier struct {
	Tier struct {
		Type string   `json:"type"`
		Size *float64 `json:"size"`
	} `json:"tier"`
	modelsDevCost
}

func (m modelsDevModel) row(provider string) Row {
	row := Row{
		Provider: provider, ID: m.ID, Op: llm.Chat, Context: whole(m.Limit.Context), MaxOutput: whole(m.Limit.Output),
		Deprecated: m.Status == "deprecated",
	}
	if m.Provider.Shape == "responses" {
		row.Needs = "responses"
	}
	if strings.Contains(m.Family, "embed") || strings.Contains(strings.ToLower(m.ID), "embed") || slices.Contains(m.Modalities.Output, "embedding") {
		row.Op, row.MaxOutput = llm.Embed, 0 // the list sometimes has the vector size here
	} else {
		row.Abilities = m.abilities()
	}
	row.Price = m.Cost.price(row.Op)
	if fast := m.Experimental.Modes["fast"].Cost; fast != nil && row.Price != nil {
		if f := factor(perMillion(fast.Input), row.Price.Input); f > 0 && f != 1000 && f <= 10_000 {
			row.Price.Services = append(row.Price.Services, catalog.Service{Name: "fast", Factor: f})
		}
	}
	return row
}

func (m modelsDevModel) abilities() llm.Abilities {
	all := llm.JSONMode
	for _, one := range []struct {
		has     bool
		ability llm.Abilities
	}{
		{m.ToolCall, llm.Tools | llm.ParallelTools},
		{m.StructuredOutput, llm.JSONSchema},
		{m.Reasoning, llm.Reasoning},
		{slices.Contains(m.Modalities.Input, "image"), llm.Vision},
		{slices.Contains(m.Modalities.Input, "audio"), llm.AudioIn},
		{slices.Contains(m.Modalities.Input, "pdf"), llm.Files},
		{slices.Contains(m.Modalities.Output, "audio"), llm.AudioOut},
	} {
		if one.has {
			all |= one.ability
		}
	}
	return all
}

// price returns the price, or nil if the list has none. context_over_200k is an older field for a single tier. It
// is read only if the model has no other tiers.
func (c *modelsDevCost) price(op llm.Op) *catalog.Price {
	base, ok := c.card(op)
	if !ok {
		return nil
	}
	p := &catalog.Price{
		Input: base.Input, Output: base.Output, CacheRead: base.CacheRead, CacheWrite: base.CacheWrite,
		AudioInput: base.AudioInput, AudioOutput: base.AudioOutput, Source: Source,
	}
	for _, t := range c.Tiers {
		card, ok := t.card(op)
		if card.Above = whole(t.Tier.Size); ok && t.Tier.Type == "context" && card.Above > 0 {
			p.Tiers = append(p.Tiers, card)
		}
	}
	if card, ok := c.Over200k.card(op); ok && len(c.Tiers) == 0 {
		card.Above = 200_000
		p.Tiers = append(p.Tiers, card)
	}
	slices.SortFunc(p.Tiers, func(a, b catalog.Tier) int { return int(a.Above - b.Above) })
	return p
}

func (c *modelsDevCost) card(op llm.Op) (catalog.Tier, bool) {
	if c == nil {
		return catalog.Tier{}, false
	}
	input, output := perMillion(c.Input), perMillion(c.Output)
	if op == llm.Embed && output == nil {
		output = new(money.Rate(0))
	}
	if input == nil || output == nil {
		return catalog.Tier{}, false
	}
	return catalog.Tier{
		Input: *input, Output: *output, CacheRead: perMillion(c.CacheRead), CacheWrite: perMillion(c.CacheWrite),
		AudioInput: perMillion(c.InputAudio), AudioOutput: perMillion(c.OutputAudio),
	}, true
}
