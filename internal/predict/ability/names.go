package ability

import (
	"regexp"
	"strings"
)

// trainedNames maps names of models in the catalog and elsewhere to the spelling or dated edition in the training
// data.
var trainedNames = map[string]string{
	"gpt-4o":                          "gpt-4o-2024-05-13",
	"gpt-4o-2024-11-20":               "gpt-4o-2024-08-06",
	"chatgpt-4o-latest":               "chatgpt-4o-latest-24-09-07",
	"gpt-4o-mini":                     "gpt-4o-mini-2024-07-18",
	"gpt-4-turbo":                     "gpt-4-turbo-2024-04-09",
	"gpt-4-turbo-preview":             "gpt-4-0125-preview",
	"gpt4_1106_preview":               "gpt-4-1106-preview",
	"gpt4_0613":                       "gpt-4-0613",
	"gpt-3.5-turbo-16k":               "gpt-3.5-turbo-0125",
	"gpt-3.5-turbo":                   "gpt-3.5-turbo-0125",
	"claude-3-5-sonnet":               "claude-3-5-sonnet-20240620",
	"claude-3-5-sonnet-20241022":      "claude-3-5-sonnet-20240620",
	"claude-3-5-sonnet-latest":        "claude-3-5-sonnet-20240620",
	"claude-3.5-sonnet":               "claude-3-5-sonnet-20240620",
	"claude-3-haiku-latest":           "claude-3-haiku-20240307",
	"o1-mini":                         "o1-mini-2024-09-12",
	"o1-preview":                      "o1-preview-2024-09-12",
	"claude-3-haiku":                  "claude-3-haiku-20240307",
	"claude-3-sonnet":                 "claude-3-sonnet-20240229",
	"claude-3-opus":                   "claude-3-opus-20240229",
	"claude-3-opus-latest":            "claude-3-opus-20240229",
	"claude-instant-1":                "claude-instant-1.2",
	"claude-instant-v1":               "claude-instant-1.2",
	"claude-v1":                       "claude-1",
	"claude-v2":                       "claude-2",
	"gemini-pro":                      "gemini-1.0-pro",
	"gemini-1.5-pro-001":              "gemini-1.5-pro",
	"gemini-1.5-pro-002":              "gemini-1.5-pro",
	"gemini-1.5-pro-latest":           "gemini-1.5-pro",
	"gemini-1.5-flash-001":            "gemini-1.5-flash",
	"gemini-1.5-flash-002":            "gemini-1.5-flash",
	"gemini-1.5-flash-latest":         "gemini-1.5-flash",
	"open-mixtral-8x7b":               "mixtral-8x7b-instruct-v0.1",
	"mixtral-8x7b":                    "mixtral-8x7b-instruct-v0.1",
	"mixtral-8x7b-instruct":           "mixtral-8x7b-instruct-v0.1",
	"mixtral-8x22b-instruct":          "open-mixtral-8x22b",
	"mixtral-8x22b-instruct-v0.1":     "open-mixtral-8x22b",
	"mistral-7b-instruct":             "mistral-7b-instruct-v0.2",
	"mistral-large-2407":              "mistral-large-2",
	"mistral-nemo":                    "mistral-nemo-instruct-2407",
	"open-mistral-nemo":               "mistral-nemo-instruct-2407",
	"deepseek-v2-chat-0628":           "deepseek-v2-chat",
	"deepseek-coder-v2":               "deepseek-v2-coder-0614",
	"deepseek-coder-v2-instruct":      "deepseek-v2-coder-0614",
	"deepseek-v2.5":                   "deepseek-v2.5-0908",
	"llama-3.1-405b-instruct":         "llama-3.1-405b-inst@sambanova",
	"meta-llama-3_1-405b-instruct":    "llama-3.1-405b-inst@sambanova",
	"llama-2-70b-chat-hf":             "llama-2-70b-chat",
	"command-r-plus-04-2024":          "command-r-plus",
	"command-r-03-2024":               "command-r",
	"thudm_glm-4-9b-chat":             "glm-4-9b-chat",
	"nvidia_nemotron-4-340b-instruct": "nemotron-4-340b-instruct",
}

// metaPrefix matches Meta's own name before the model's.
var metaPrefix = regexp.MustCompile(`^(?:meta-llama_)?meta-llama-3(?:[._]1)?-`)

// hostSuffix matches suffixes that hosts add to the names of open-weight models.
var hostSuffix = regexp.MustCompile(`(?:-fp8|-turbo|-awq|:free|:latest|-latest)$`)

// Canonical returns a model's name in lower case without the vendor, in the spelling of the training data if it has
// one.
func Canonical(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndexByte(name, '/')+1:]
	if other, ok := trainedNames[name]; ok {
		return other
	}
	if metaPrefix.MatchString(name) && strings.HasSuffix(name, "-instruct") {
		_, rest, _ := strings.Cut(name, "llama-3")
		name = strings.Replace("llama-3"+rest, "3_1", "3.1", 1)
	}
	return name
}

// spellings returns the names to look up, most exact first.
func spellings(name string) []string {
	first := Canonical(name)
	list := []string{first}
	if bare := hostSuffix.ReplaceAllString(first, ""); bare != first {
		list = append(list, Canonical(bare))
	}
	return list
}
