package migration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/catalog"
)

// routerModel is a model in OpenRouter's list of models.
type routerModel struct {
	ID           string            `json:"id"`
	Context      int64             `json:"context_length"`
	Pricing      map[string]string `json:"pricing"` // US dollars per token
	Architecture struct {
		Output []string `json:"output_modalities"`
	} `json:"architecture"`
	Top struct {
		MaxOutput int64 `json:"max_completion_tokens"`
	} `json:"top_provider"`
}

// OpenRouterModels converts a list of models: the response of OpenRouter's GET /api/v1/models, or one model id per line. The result has
// OpenRouter as a provider of these models and reports the models that are also available directly from their vendor.
func OpenRouterModels(text []byte, c *catalog.Catalog, known []string) (*Result, error) {
	models, err := parseModels(text)
	if err != nil {
		return nil, err
	}
	r := &Result{}
	p := &instance{name: "openrouter", vendor: "openrouter", keys: []string{"${OPENROUTER_API_KEY}"}, catalog: true}
	direct := map[string][]string{}
	seen := map[string]bool{}
	for _, m := range models {
		if seen[m.ID] {
			continue
		}
		seen[m.ID] = true
		r.routerModel(m, c, known, p, direct)
	}
	var w writer
	w.line(0, "# Converted from a list of OpenRouter models. Check the report of the import, then run: fairlead config check")
	w.line(0, "# OpenRouter stays a provider. To call a vendor without OpenRouter, set its variable: the gateway then chooses by price and health.")
	for _, vendor := range sortedKeys(direct) {
		w.line(0, "#   %s: %s", vendor, strings.Join(direct[vendor], ", "))
	}
	w.providers([]*instance{p})
	r.YAML = w.String()
	return r, nil
}

func parseModels(text []byte) ([]routerModel, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	var models []routerModel
	switch trimmed := bytes.TrimSpace(text); {
	case len(trimmed) == 0:
		return nil, errors.New("the file is empty")
	case trimmed[0] == '{':
		var file struct {
			Data []routerModel `json:"data"`
		}
		if err := json.Unmarshal(trimmed, &file); err != nil {
			return nil, fmt.Errorf("parse the list of models: %w", err)
		}
		models = file.Data
	case trimmed[0] == '[':
		if err := json.Unmarshal(trimmed, &models); err != nil {
			return nil, fmt.Errorf("parse the list of models: %w", err)
		}
	default:
		for line := range strings.Lines(string(trimmed)) {
			if id, _, _ := strings.Cut(line, "#"); strings.TrimSpace(id) != "" {
				models = append(models, routerModel{ID: strings.TrimSpace(id)})
			}
		}
	}
	if len(models) == 0 {
		return nil, errors.New("the file has no models")
	}
	if len(models) > maxModels {
		return nil, fmt.Errorf("the file has more than %d models", maxModels)
	}
	return models, nil
}

// routerModel converts one model.
func (r *Result) routerModel(m routerModel, c *catalog.Catalog, vendors []string, p *instance, direct map[string][]string) {
	plain, variant, _ := strings.Cut(m.ID, ":")
	known, ok := c.Model(plain)
	switch {
	case strings.HasPrefix(m.ID, "openrouter/auto"):
		r.add(Changed, m.ID, "request auto, auto:cost, auto:quality or auto:speed")
		return
	case !validName(m.ID):
		r.add(Unsupported, m.ID, "clients cannot use the name")
		return
	case len(m.Architecture.Output) > 0 && !slices.Contains(m.Architecture.Output, "text") && !slices.Contains(m.Architecture.Output, "embeddings"):
		r.add(Unsupported, m.ID, "the model has no text output")
		return
	case variant == "floor" || variant == "nitro":
		r.add(Changed, m.ID, `clients request %s with "provider": {"sort": %q}`, plain, map[string]string{"floor": "price", "nitro": "throughput"}[variant])
		return
	case variant == "online":
		r.add(Changed, m.ID, "clients request %s with web_search_options", plain)
		return
	}
	if ok && variant == "" {
		if offer, offered := c.Offer("openrouter", known.Name); offered && offer.Price != nil {
			text := "known as " + known.Name
			if slices.Contains(vendors, known.Home) {
				direct[known.Home] = append(direct[known.Home], known.Name)
				text += "; also available from " + known.Home + " with a key of your own"
			}
			r.add(Taken, m.ID, "%s", text)
			return
		}
	}
	one := &model{name: m.ID, context: m.Context, maxOutput: m.Top.MaxOutput}
	if slices.Contains(m.Architecture.Output, "embeddings") {
		one.kind = "embedding"
	}
	dynamic := false
	for _, part := range []struct {
		from string
		to   **float64
	}{{"prompt", &one.price.input}, {"completion", &one.price.output}, {"input_cache_read", &one.price.cacheRead}, {"input_cache_write", &one.price.cacheWrite}} {
		n, err := strconv.ParseFloat(m.Pricing[part.from], 64)
		dynamic = dynamic || err == nil && n < 0
		if err == nil && n >= 0 && n < 1 {
			perMillion := math.Round(n*1e12) / 1e6
			*part.to = &perMillion
		}
	}
	switch {
	case dynamic:
		r.add(Unsupported, m.ID, "the price depends on the request")
		return
	case one.price.input == nil:
		one.comment = "The price is unknown. Set input_per_mtok and output_per_mtok."
		r.add(Changed, m.ID, "the price is unknown: set input_per_mtok and output_per_mtok, or import the JSON of /api/v1/models")
	default:
		r.add(Taken, m.ID, "a model at openrouter with the price in the list")
	}
	p.models = append(p.models, one)
}
