package bedrock

import (
	"cmp"
	"strings"
)

// profiledModels are the models that are called through an inference profile: the model's name with the geography in which it
// may run as a prefix.
var profiledModels = []string{
	"anthropic.claude-3-5-haiku", "anthropic.claude-3-7", "anthropic.claude-haiku", "anthropic.claude-opus", "anthropic.claude-sonnet",
	"anthropic.claude-fable", "anthropic.claude-mythos", "amazon.nova-lite", "amazon.nova-micro", "amazon.nova-pro", "amazon.nova-premier",
	"amazon.nova-2-lite", "amazon.nova-2-pro", "meta.llama3-1", "meta.llama3-2", "meta.llama3-3", "meta.llama4", "deepseek.r1",
	"mistral.pixtral", "cohere.embed-v4",
}

// profiled returns the name to call a model by. Names with a prefix and ARNs are unchanged.
func (c caller) profiled(model string) string {
	prefix := cmp.Or(c.settings.Options[OptionProfile], profileOf(c.region, model))
	if prefix == "none" || prefix == "" {
		return model
	}
	for _, begin := range profiledModels {
		if strings.HasPrefix(model, begin) {
			return prefix + "." + model
		}
	}
	return model
}

// profileOf returns the profile prefix for the geography of a region. Models leave it only if the operator configures another
// prefix.
func profileOf(region, model string) string {
	narrow := strings.Contains(model, "-4-5") || strings.Contains(model, "-4-6") || strings.Contains(model, "nova-2")
	switch {
	case strings.HasPrefix(region, "us-gov-"):
		return "us-gov"
	case strings.HasPrefix(region, "us-"), strings.HasPrefix(region, "ca-"):
		return "us"
	case strings.HasPrefix(region, "eu-"):
		return "eu"
	case narrow && (region == "ap-northeast-1" || region == "ap-northeast-3"):
		return "jp"
	case narrow && (region == "ap-southeast-2" || region == "ap-southeast-4"):
		return "au"
	case strings.HasPrefix(region, "ap-"):
		return "apac"
	}
	return ""
}
