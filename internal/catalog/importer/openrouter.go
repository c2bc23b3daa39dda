package importer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// openRouter is the catalog name of the provider whose own list readOpenRouter parses.
const openRouter = "openrouter"

// readOpenRouter parses OpenRouter's list of its own models. Prices are strings in dollars per token.
func readOpenRouter(text []byte) ([]Row, error) {
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("unexpected format: %w", err)
	}
	var rows []Row
	for _, entry := range list.Data {
		var m openRouterModel
		if json.Unmarshal(entry, &m) == nil && m.ID != "" && slices.Contains(m.Architecture.Output, "text") {
			rows = append(rows, m.row())
		}
	}
	return rows, nil
}

type openRouterModel struct {
	ID           string `json:"id"`
	Context      int64  `json:"context_length"`
	Architecture struct {
		Input  []string `json:"input_modalities"`
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	Pricing struct {
		Prompt     string `json:"prompt"`
		Completion string `json:"completion"`
		CacheRead  string `json:"input_cache_read"`
		CacheWrite string `json:"input_cache_write"`
	} `json:"pricing"`
	TopProvider struct {
		MaxOutput int64 `json:"max_completion_tokens"`
	} `json:"top_provider"`
	Parameters []string `json:"supported_parameters"`
}

func (m openRouterModel) row() Row {
	row := Row{Provider: openRouter, ID: m.ID, Op: llm.Chat, Context: max(0, m.Context), MaxOutput: max(0, m.TopProvider.MaxOutput), Abilities: llm.JSONMode}
	for _, one := range []struct {
		has     bool
		ability llm.Abilities
	}{
		{slices.Contains(m.Parameters, "tools"), llm.Tools},
		{slices.Contains(m.Parameters, "parallel_tool_calls"), llm.ParallelTools},
		{slices.Contains(m.Parameters, "structured_outputs"), llm.JSONSchema},
		{slices.Contains(m.Parameters, "reasoning"), llm.Reasoning},
		{slices.Contains(m.Architecture.Input, "image"), llm.Vision},
		{slices.Contains(m.Architecture.Input, "audio"), llm.AudioIn},
		{slices.Contains(m.Architecture.Input, "file"), llm.Files},
	} {
		if one.has {
			row.Abilities |= one.ability
		}
	}
	if input, output := perToken(m.Pricing.Prompt), perToken(m.Pricing.Completion); input != nil && output != nil {
		row.Price = &catalog.Price{
			Input: *input, Output: *output, CacheRead: perToken(m.Pricing.CacheRead), CacheWrite: perToken(m.Pricing.CacheWrite), Source: openRouter,
		}
	}
	return row
}

// perToken converts a price per token to a rate. It returns nil for an invalid price; the list uses -1 for prices that vary.
func perToken(text string) *money.Rate {
	dollars, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	dollars *= 1e6
	return perMillion(&dollars)
}
