package geminiapi

import (
	"strings"
	"unicode"

	"fairlead.dev/internal/rawjson"
)

// camel maps a member name with underscores to the name without underscores, such as system_instruction to
// systemInstruction. Google's API accepts both. camel contains the members that the gateway reads.
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

// snake returns the spelling with underscores.
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

// canonical returns the name of a member without underscores.
func canonical(name string) string {
	if c, ok := camel[name]; ok {
		return c
	}
	return name
}

// members calls read for every member of an object that is not null, with the canonical name.
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

// get returns a member of an object in either spelling.
func get(v rawjson.Value, name string) (found rawjson.Value) {
	if found = v.Get(name); found.Exists() {
		return found
	}
	return v.Get(snake(name))
}

// list calls read for every element of a list. A single object counts as a list of one, as in Google's API.
func list(v rawjson.Value, read func(element rawjson.Value) bool) {
	if v.IsObject() {
		read(v)
		return
	}
	if v.IsList() {
		v.ForEach(func(_, element rawjson.Value) bool { return read(element) })
	}
}
