package geminiapi

import (
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// Names of the nested members that the gateway reads, in both spellings.
var (
	contentNames = []string{"role", "parts"}
	partNames    = withSnake("text", "thought", "thoughtSignature", "inlineData", "fileData", "functionCall", "functionResponse")
	dataNames    = withSnake("mimeType", "data", "fileUri", "displayName")
	toolNames    = withSnake("functionDeclarations", "googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext")
)

func withSnake(list ...string) (all []string) {
	for _, name := range list {
		all = append(all, name)
		if s := snake(name); s != name {
			all = append(all, s)
		}
	}
	return all
}

// active reports whether decoding should continue. Loops over the parts of a request stop when the context is done.
func (d *decoder) active() bool { return d.Context.Err() == nil }

// rejectLookAlikes records a problem for every key of an object that differs from one of the known names only in case, and for every
// member that appears in both spellings. path is the path of the object, with a dot at the end.
func (d *decoder) rejectLookAlikes(path string, v rawjson.Value, known []string) {
	if v.IsObject() && d.active() {
		underscores := false
		v.ForEach(func(key, _ rawjson.Value) bool {
			name := key.String()
			underscores = underscores || strings.Contains(name, "_")
			d.RejectLookAlikes(path, name, known...)
			return true
		})
		if underscores {
			d.rejectSpellings(path, v)
		}
	}
}

// rejectSpellings rejects an object that has the same member in both spellings, because the gateway and the provider might not use the
// same one.
func (d *decoder) rejectSpellings(path string, v rawjson.Value) {
	if !v.IsObject() {
		return
	}
	seen := map[string]bool{}
	v.ForEach(func(key, _ rawjson.Value) bool {
		name := canonical(key.String())
		if seen[name] {
			d.Problem(path+name, "%s%s appears in both camelCase and snake_case. Send it once.", path, name)
		}
		seen[name] = true
		return d.active()
	})
}

// system decodes the instructions. They are counted as one message.
func (d *decoder) system(v rawjson.Value) {
	if !d.IsKind("systemInstruction", v, "a content", rawjson.Object) {
		return
	}
	d.req.Messages++
	d.instructed = d.textAt(d.content("systemInstruction.", v))
}

func (d *decoder) contents(v rawjson.Value) {
	if !d.IsKind("contents", v, "a list of contents", rawjson.List) {
		return
	}
	n := 0
	v.ForEach(func(_, content rawjson.Value) bool {
		if over := strict.CheckMessages(n + 1); over != nil {
			d.Problem("contents", "%s", strict.LimitMessage(over))
			return false
		}
		where := "contents[" + strconv.Itoa(n) + "]"
		n++
		if !d.IsKind(where, content, "an object", rawjson.Object) {
			return d.active()
		}
		where += "."
		first := d.content(where, content)
		switch role := content.Get("role").String(); role {
		case "model":
			d.req.Answers++
		case "user", "":
			if strings.TrimSpace(first.String()) != "" {
				d.asked = d.textAt(first)
			}
		case "function", "tool":
		default:
			d.Problem(where+"role", "%srole must be \"user\" or \"model\"; it is %s.", where, show.Quote(role))
		}
		return d.active()
	})
	d.req.Messages += n
	if n == 0 {
		d.Problem("contents", "contents is empty. Send at least one entry.")
	}
}

// content adds the text and media of one element of contents to the properties of the request. It returns the first text of the element.
func (d *decoder) content(where string, v rawjson.Value) (first rawjson.Value) {
	d.rejectLookAlikes(where, v, contentNames)
	parts := v.Get("parts")
	if !d.IsKind(where+"parts", parts, "a list of parts", rawjson.List, rawjson.Object) {
		return first
	}
	n := 0
	list(parts, func(part rawjson.Value) bool {
		param := where + "parts[" + strconv.Itoa(n) + "]"
		n++
		if d.IsKind(param, part, "an object", rawjson.Object) {
			d.rejectLookAlikes(param+".", part, partNames)
			if text := d.part(param, part); len(first.Raw) <= len(`""`) {
				first = text
			}
		}
		return d.active()
	})
	return first
}

// part adds the text or media of one part to the properties of the request. It returns the text of the part, unless the part is a thought.
func (d *decoder) part(where string, v rawjson.Value) (text rawjson.Value) {
	thought, kinds := false, 0
	members(v, func(name string, value rawjson.Value) {
		switch name {
		case "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult":
			kinds++
		}
		switch name {
		case "text":
			if d.IsKind(where+".text", value, "a string", rawjson.Text) {
				d.CountText(&d.req.PromptSize, value)
				text = value
			}
		case "thought":
			thought = value.Bool()
		case "inlineData":
			d.inline(where+".inlineData", value)
		case "fileData":
			d.file(where+".fileData", value)
		case "functionCall", "functionResponse":
			if d.IsKind(where+"."+name, value, "an object", rawjson.Object) {
				d.CountText(&d.req.PromptSize, value)
			}
			if name == "functionResponse" {
				d.resultFiles(where+".functionResponse", value)
			}
		case "executableCode", "codeExecutionResult":
			d.CountText(&d.req.PromptSize, value)
		case "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata":
		default:
			d.req.ExtraBytes += d.CountText(&d.req.PromptSize, value) // the provider may add an unknown member to the prompt
		}
	})
	if kinds > 1 {
		d.Problem(where, "%s contains several kinds of content. Send a separate part for each kind.", where)
	}
	if thought {
		return rawjson.Value{}
	}
	return text
}

// resultFiles records the stored files to which the parts of a function result refer.
func (d *decoder) resultFiles(where string, v rawjson.Value) {
	list(v.Get("parts"), func(part rawjson.Value) bool {
		members(part, func(name string, value rawjson.Value) {
			if name == "fileData" {
				members(value, func(name string, uri rawjson.Value) {
					if name == "fileUri" {
						d.req.AddStoredFile(uri.String(), where+".parts.fileData.fileUri")
					}
				})
			}
		})
		return d.active()
	})
}

// inline counts a file whose bytes are in the body. The tokens of images are estimated from their size. Only the provider can count the
// tokens of other files.
func (d *decoder) inline(where string, v rawjson.Value) {
	if !d.IsKind(where, v, "an object", rawjson.Object) {
		return
	}
	d.rejectLookAlikes(where+".", v, dataNames)
	data := v.Get("data")
	if !d.IsKind(where+".data", data, "a base64 string", rawjson.Text) {
		return
	}
	if d.media(get(v, "mimeType").String()) != llm.ImagePart {
		d.req.AttachedBytes += len(data.Raw)
		return
	}
	d.req.ImageBytes += len(data.Raw)
	d.req.AddImage(llm.ImageOf(standardBase64(data.String()), ""))
}

// file counts a file that is given by its URI and that the provider fetches or stores.
func (d *decoder) file(where string, v rawjson.Value) {
	if !d.IsKind(where, v, "an object", rawjson.Object) {
		return
	}
	d.rejectLookAlikes(where+".", v, dataNames)
	if d.media(get(v, "mimeType").String()) == llm.ImagePart {
		d.req.ImageURLs++
	}
	d.req.AddStoredFile(get(v, "fileUri").String(), where+".fileUri")
}

// media counts a file with the given MIME type, records the ability that it requires, and returns the kind of its part.
func (d *decoder) media(mimeType string) llm.PartKind {
	kind := mediaKind(mimeType)
	switch kind {
	case llm.ImagePart:
		d.req.Needs |= llm.Vision
		d.req.Images++
		return kind
	case llm.AudioPart:
		d.req.Needs |= llm.AudioIn
	default:
		d.req.Needs |= llm.Files
	}
	d.req.Unsized++
	return kind
}

// mediaKind returns the kind of part for a MIME type.
func mediaKind(mimeType string) llm.PartKind {
	switch kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(mimeType)), "/"); kind {
	case "image":
		return llm.ImagePart
	case "audio":
		return llm.AudioPart
	}
	return llm.FilePart
}

// standardBase64 converts base64 from the URL alphabet, which Google's Python client uses, to the standard alphabet. It
// returns invalid base64 unchanged.
func standardBase64(data string) string {
	if standard, ok := llm.StandardBase64(data); ok {
		return standard
	}
	return data
}

// tools decodes the tool declarations and counts them as text, because they are part of the prompt.
func (d *decoder) tools(v rawjson.Value) {
	if !d.IsKind("tools", v, "a list", rawjson.List) {
		return
	}
	n := 0
	v.ForEach(func(_, tool rawjson.Value) bool {
		where := "tools[" + strconv.Itoa(n) + "]"
		n++
		if !d.IsKind(where, tool, "an object", rawjson.Object) {
			return true
		}
		d.rejectLookAlikes(where+".", tool, toolNames)
		members(tool, func(name string, value rawjson.Value) {
			switch {
			case name == "functionDeclarations":
				if d.IsKind(where+"."+name, value, "a list", rawjson.List) && len(value.Raw) > len(`[]`) {
					d.req.Needs |= llm.Tools
				}
			case isSearch(name):
				d.req.Needs |= llm.WebSearch
				d.req.Hosted = true
			default:
				d.req.Hosted = true
			}
			d.CountText(&d.req.PromptSize, value)
		})
		return d.active()
	})
}

func isSearch(tool string) bool { return tool == "googleSearch" || tool == "googleSearchRetrieval" }
