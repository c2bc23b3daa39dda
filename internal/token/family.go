package token

// Family is a vocabulary with calibrated weights. The catalog assigns one to every model.
type Family string

// Families with calibrated weights.
const (
	O200K    Family = "o200k"
	CL100K   Family = "cl100k"
	Claude   Family = "claude"
	Gemini   Family = "gemini" // uses the Gemma vocabulary
	Llama3   Family = "llama3"
	Llama4   Family = "llama4"
	Tekken   Family = "tekken" // used by Mistral models since Nemo
	Qwen     Family = "qwen"
	DeepSeek Family = "deepseek"
	Cohere   Family = "cohere"
)
