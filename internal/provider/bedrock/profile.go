package bedrock

import (
	"cmp"
	"strings"
)

// profiled returns the name under which a model is called. Some models must be called through an inference profile, whose
// name is the model name with a prefix for the geography in which the model may run. Names with a prefix and ARNs are
// returned unchanged.
func (c caller) profiled(model string) string {
	prefix := cmp.Or(c.settings.Options[OptionProfile], profileOf(c.region, model))
	if prefix == "none" || prefix == "" {
		return model
	}
	for _, begin := range []string{
		"anthropic.claude-3-5-haiku", "anthropic.claude-3-7", "anthropic.claude-haiku", "anthropic.claude-opus", "anthropic.claude-sonnet",
		"anthropic.claude-fable", "anthropic.claude-mythos", "amazon.nova-lite", "amazon.nova-micro", "amazon.nova-pro", "amazon.nova-premier",
		"amazon.nova-2-lite", "amazon.nova-2-pro", "meta.llama3-1", "meta.llama3-2", "meta.llama3-3", "meta.llama4", "deepseek.r1",
		"mistral.pixtral", "cohere.embed-v4",
	} {
		if strings.HasPrefix(model, begin) {
			return prefix + "." + model
		}
	}
	return model
}

// profileOf returns the profile prefix for the geography of a region. Requests leave this geography only if the
// operator configures another prefix.
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
