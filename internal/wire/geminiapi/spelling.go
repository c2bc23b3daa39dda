package geminiapi

import (
	"strings"
	"unicode"

	"fairlead.dev/internal/rawjson"
)

// camel maps snake_case names to camelCase names, such as system_instruction to systemInstruction, for the members that the gateway
// reads. Google's API accepts both.
var camel = func() map[string]string {
	table := map[string]string{}
	for _, name := range []string{
		"systemInstruction", "generationConfig", "toolConfig", "safetySettings", "cachedContent", "generateContentRequest",
		"inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "thoughtSignature",
		"videoMetadata", "mediaResolution", "partMetadata", "mimeType", "fileUri", "displayName",
		"functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "parametersJsonSchema",
		"functionCallingConfig", "allowedFunctionNames", "retrievalConfig", "responseJsonSchema",
		"maxOutputTokens", "candidateCount", "topP", "topK", "stopSequences", "presencePenalty", "frequencyPenalty",
		"responseMimeType", "responseSchema", "responseModalities", "responseLogprobs", "thinkingConfig",
		"thinkingBudget", "thinkingLevel", "includeThoughts", "finishReason", "modelVersion", "responseId",
		"outputDimensionality",
	} {
		if s := snake(name); s != name {
			table[s] = name
		}
	}
	return table
}()

// snake returns the snake_case spelling of a name.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// canonical returns the camelCase form of a snake_case name that the map camel contains. It returns any other name unchanged.
func canonical(name string) string {
	if c, ok := camel[name]; ok {
		return c
	}
	return name
}

// members calls read with the canonical name and the value of every member of an object, except members that are null.
func members(v rawjson.Value, read func(name string, value rawjson.Value)) {
	if !v.IsObject() {
		return
	}
	v.ForEach(func(key, value rawjson.Value) bool {
		if value.Kind != rawjson.Null {
			read(canonical(key.String()), value)
		}
		return true
	})
}

// get returns the member of an object, whether its name is in camelCase or snake_case. name is the camelCase name.
func get(v rawjson.Value, name string) (found rawjson.Value) {
	if found = v.Get(name); found.Exists() {
		return found
	}
	return v.Get(snake(name))
}

// list calls read for every element of a list. Like Google's API, it accepts a single object in place of a list with one element.
func list(v rawjson.Value, read func(element rawjson.Value) bool) {
	if v.IsObject() {
		read(v)
		return
	}
	if v.IsList() {
		v.ForEach(func(_, element rawjson.Value) bool { return read(element) })
	}
}
