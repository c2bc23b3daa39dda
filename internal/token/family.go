package token

import "strings"

// Family is a vocabulary with calibrated weights.
type Family string

// The families.
const (
	O200K    Family = "o200k"
	CL100K   Family = "cl100k"
	Claude   Family = "claude"
	Gemini   Family = "gemini" // the Gemma vocabulary
	Llama3   Family = "llama3"
	Llama4   Family = "llama4"
	Tekken   Family = "tekken" // Mistral since Nemo
	Qwen     Family = "qwen"
	DeepSeek Family = "deepseek"
	Cohere   Family = "cohere"
)

// Margins for models whose own vocabulary is not available.
const (
	exact             = 1.0
	similarVocabulary = 1.05 // a vocabulary known to be similar
	nearest           = 1.15
	wordPiece         = 1.2  // older embedding models with 30,000 word pieces
	sentences32       = 1.25 // Mistral's vocabulary of 32,000 pieces, before Tekken
	// Claude 2 has the only published vocabulary of Claude. In published comparisons Claude 3 to 4.6 have 5 % (prose)
	// to 20 % (code) more tokens, and Claude since Opus 4.7 has about 30 % more again.
	claude3 = 1.12
	claude5 = claude3 * 1.3
)

// family returns the vocabulary of the model, or the closest one, and the margin to apply.
func (m Model) family() (Family, float64) {
	switch m.Vendor {
	case "OpenAI":
		return openAI(m.Name), exact
	case "Anthropic":
		if newClaude(m.Name) {
			return Claude, claude5
		}
		return Claude, claude3
	case "Google":
		return Gemini, exact
	case "Meta":
		return meta(m.Name)
	case "Mistral":
		if beforeTekken(m.Name) {
			return Tekken, sentences32
		}
		return Tekken, exact
	case "Alibaba":
		return Qwen, exact
	case "DeepSeek":
		return deepSeek(m.Name)
	case "Cohere":
		return Cohere, exact
	case "Microsoft":
		return CL100K, exact // phi-4
	case "NVIDIA":
		if strings.HasPrefix(m.Name, "llama") {
			return Llama3, exact
		}
		return Tekken, similarVocabulary
	case "Perplexity":
		return Llama3, similarVocabulary
	case "Xiaomi":
		return Qwen, similarVocabulary
	case "Z.ai", "Voyage AI":
		return Qwen, nearest
	case "Moonshot AI", "StepFun":
		return DeepSeek, nearest
	case "BAAI", "Mixedbread", "Nomic":
		return CL100K, wordPiece
	case "Jina AI":
		return Gemini, nearest
	}
	return familyByName(m.Name)
}

// familyByName derives the vocabulary from the name if the vendor is unknown, as for custom models.
func familyByName(name string) (Family, float64) {
	name = strings.ToLower(name)
	for _, known := range []struct {
		part   string
		family Family
	}{
		{"gpt", O200K},
		{"claude", Claude},
		{"gemini", Gemini},
		{"gemma", Gemini},
		{"llama-4", Llama4},
		{"llama4", Llama4},
		{"llama", Llama3},
		{"mistral", Tekken},
		{"mixtral", Tekken},
		{"codestral", Tekken},
		{"devstral", Tekken},
		{"qwen", Qwen},
		{"deepseek", DeepSeek},
		{"command", Cohere},
	} {
		if strings.Contains(name, known.part) {
			return known.family, nearest
		}
	}
	return O200K, nearest
}

func openAI(name string) Family {
	for _, old := range []string{"gpt-3.5", "gpt-4-", "text-embedding", "davinci", "babbage"} {
		if strings.HasPrefix(name, old) {
			return CL100K
		}
	}
	if name == "gpt-4" {
		return CL100K
	}
	return O200K
}

// newClaude reports whether the model has the vocabulary introduced with Opus 4.7.
func newClaude(name string) bool {
	for _, old := range []string{"claude-2", "claude-3", "claude-instant", "claude-haiku-4", "claude-sonnet-4"} {
		if strings.HasPrefix(name, old) {
			return false
		}
	}
	minor, isOpus4 := strings.CutPrefix(name, "claude-opus-4")
	return !isOpus4 || strings.HasPrefix(minor, "-7") || strings.HasPrefix(minor, "-8") || strings.HasPrefix(minor, "-9")
}

func meta(name string) (Family, float64) {
	switch {
	case strings.HasPrefix(name, "llama-4"):
		return Llama4, exact
	case strings.HasPrefix(name, "llama"):
		return Llama3, exact
	}
	return Llama4, nearest
}

func deepSeek(name string) (Family, float64) {
	switch {
	case strings.Contains(name, "distill-llama"):
		return Llama3, exact
	case strings.Contains(name, "distill-qwen"):
		return Qwen, exact
	}
	return DeepSeek, exact
}

// beforeTekken reports whether a Mistral model has the vocabulary before Tekken.
func beforeTekken(name string) bool {
	for _, old := range []string{"mixtral", "mistral-large-24", "codestral", "pixtral-large", "mistral-embed", "mistral-7b"} {
		if strings.HasPrefix(name, old) {
			return true
		}
	}
	return false
}
