package anthropic

import (
	"strings"

	"fairlead.dev/internal/wire/websearch"
)

// clientTool is a tool of Anthropic's that the client runs. Anthropic's models know it by its type. Other models get it as a function with
// the input that Anthropic documents.
type clientTool struct{ prefix, description, schema string }

var clientTools = []clientTool{
	{
		"bash_", "Run a command in a persistent bash session, or restart the session.",
		`{"type":"object","properties":{"command":{"type":"string"},"restart":{"type":"boolean"}}}`,
	},
	{
		"text_editor_", "View and edit text files. view shows a file, or the lines view_range of a file, or lists a directory. create writes file_text. " +
			"str_replace replaces the only occurrence of old_str by new_str. insert adds insert_text after the line insert_line.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"}},"required":["command","path"]}`,
	},
	{
		"memory_", "Read and write files below /memories, which remain between conversations. View this directory before you begin a task, and " +
			"store there what later conversations need.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}`,
	},
}

// clientToolOf returns the client tool of a type such as bash_20250124, or nil.
func clientToolOf(kind string) *clientTool {
	for i := range clientTools {
		if IsHosted(kind) && strings.HasPrefix(kind, clientTools[i].prefix) {
			return &clientTools[i]
		}
	}
	return nil
}

// NeedsVendor reports whether only Anthropic's models can have a tool of this type.
func NeedsVendor(kind string) bool {
	return kind != "" && kind != "custom" && !websearch.Is(kind) && clientToolOf(kind) == nil
}
