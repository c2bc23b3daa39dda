package bedrock

import (
	"cmp"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// settings encodes the output limit, the sampling settings, the stop sequences and the service tier.
func (r *renderer) settings() {
	if n := cmp.Or(r.conv.MaxOutput, r.o.MaxOutput); n > 0 {
		r.out.InferenceConfig.MaxTokens = n
	}
	if r.conv.MaxOutput == 0 && r.o.MaxOutput > 0 && (r.o.ModelOutput == 0 || r.o.MaxOutput < r.o.ModelOutput) {
		r.warnings.Add("maxTokens set to %d: a budget or a policy allows no more", r.o.MaxOutput)
	}
	r.sampling()
	for _, s := range r.conv.Stop {
		if blank(s) {
			r.warnings.Add("a stop sequence was dropped: %s does not accept a blank one.", r.d.Title)
			continue
		}
		r.out.InferenceConfig.Stop = append(r.out.InferenceConfig.Stop, s)
	}
	if r.d.ReportsStop && len(r.conv.Stop) > 0 {
		r.out.ResponsePaths = []string{"/stop_sequence"}
	}
	switch tier := r.conv.ServiceTier; tier {
	case "", "auto":
	case "default", "flex", "priority":
		r.out.ServiceTier = &serviceTier{Type: tier}
	case "fast":
		r.out.ServiceTier = &serviceTier{Type: "priority"}
	default:
		r.warnings.Add("service_tier was dropped: %s does not support %s.", r.d.Title, show.Name(tier))
	}
}

func (r *renderer) sampling() {
	s := r.conv.Sampling
	if r.d.FixedSampler {
		for _, x := range []struct {
			name  string
			value json.Number
		}{{"temperature", s.Temperature}, {"top_p", s.TopP}, {"top_k", s.TopK}} {
			if x.value != "" && !llm.IsDefaultSampling(x.name, x.value) {
				r.warnings.Add("%s was dropped: the model does not support sampling settings.", x.name)
			}
		}
		return
	}
	if r.noSampling {
		return
	}
	if s.Temperature != "" {
		r.out.InferenceConfig.Temperature = jsontext.Value(s.Temperature)
	}
	switch {
	case s.TopP == "":
	case r.d.OneSampler && s.Temperature != "":
		if !llm.IsDefaultSampling("top_p", s.TopP) {
			r.warnings.Add("top_p was dropped: the model does not support it together with temperature.")
		}
	default:
		r.out.InferenceConfig.TopP = jsontext.Value(s.TopP)
	}
	topK := jsontext.Value(s.TopK)
	switch { // the member that holds top_k depends on the model
	case s.TopK == "":
	case r.d.TopK == "":
		r.without("top_k")
	case r.d.TopK == "inferenceConfig.topK": // for Amazon's own models
		r.out.Additional.Inference = &novaInference{topK}
	case r.d.TopK == "k":
		r.out.Additional.K = topK
	default:
		r.out.Additional.TopK = topK
	}
}
