package openai

import (
	"bytes"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// HasCustomTools reports whether a chat request has tools that accept free text.
func HasCustomTools(req *llm.Request) bool {
	return req.Conversation != nil && slices.ContainsFunc(req.Conversation.Tools, func(t llm.Tool) bool { return t.Custom })
}

// mayHaveCustom reports whether the body contains the string "custom", including the quotes. This check is fast. The text of a message
// cannot match, because quotes inside a JSON string are escaped.
func mayHaveCustom(req *llm.Request) bool {
	return !req.Plain && bytes.Contains(req.Body, []byte(`"custom"`))
}

// FunctionsOnly replaces custom tools with functions, for providers that support only functions. It returns the body of the chat request
// with the tools, their calls and the tool choice replaced, or nil if nothing changed.
func FunctionsOnly(req *llm.Request) []byte {
	if !mayHaveCustom(req) {
		return nil
	}
	var body []byte
	at := 0
	for _, f := range req.Fields {
		v := rawjson.Parse(req.Body[f.Value:f.End])
		var value []byte
		switch f.Name {
		case "tools":
			value = changeElements(v, functionTool)
		case "tool_choice":
			value = functionChoice(v)
		case "messages":
			value = changeElements(v, func(message rawjson.Value) []byte {
				return changeMember(message, "tool_calls", func(calls rawjson.Value) []byte { return changeElements(calls, convertCall) })
			})
		}
		if value != nil {
			body = append(append(body, req.Body[at:f.Value]...), value...)
			at = f.End
		}
	}
	if body == nil {
		return nil
	}
	return append(body, req.Body[at:]...)
}

// functionTool converts a custom tool to a function. It returns nil for any other tool.
func functionTool(v rawjson.Value) []byte {
	if v.Get("type").String() != "custom" {
		return nil
	}
	custom := v.Get("custom")
	tool := llm.Tool{Name: custom.Get("name").String(), Description: custom.Get("description").String(), Format: []byte(custom.Get("format").Raw)}
	return asFunction(v, func(w *rawjson.Writer) {
		w.Str("name", tool.Name)
		w.OptionalStr("description", tool.DescribeGrammar())
		w.Raw("parameters", []byte(freeTextSchema))
	})
}

// convertCall converts a call of a custom tool to a function call. It returns nil for any other call.
func convertCall(v rawjson.Value) []byte {
	custom := v.Get("custom")
	if !custom.IsObject() {
		return nil
	}
	return asFunction(v, func(w *rawjson.Writer) {
		w.Str("name", custom.Get("name").String())
		w.Str("arguments", wrapFreeText(custom.Get("input").String()))
	})
}

// functionChoice converts a tool choice that refers to custom tools to one that refers to functions. It returns nil for any other choice.
func functionChoice(v rawjson.Value) []byte {
	switch v.Get("type").String() {
	case "custom":
		return functionName(v)
	case "allowed_tools":
		return changeMember(v, "allowed_tools", func(allowed rawjson.Value) []byte {
			return changeMember(allowed, "tools", func(tools rawjson.Value) []byte { return changeElements(tools, functionName) })
		})
	}
	return nil
}

// functionName converts a reference to a custom tool to a reference to a function. It returns nil for any other reference.
func functionName(v rawjson.Value) []byte {
	if v.Get("type").String() != "custom" {
		return nil
	}
	return asFunction(v, func(w *rawjson.Writer) { w.Str("name", v.Get("custom.name").String()) })
}

// asFunction returns a copy of the object v in which type is "function" and a function object replaces the custom member. members writes
// the members of the function object.
func asFunction(v rawjson.Value, members func(w *rawjson.Writer)) []byte {
	var w rawjson.Writer
	w.Open()
	v.ForEach(func(key, value rawjson.Value) bool {
		if name := key.String(); name != "type" && name != "custom" {
			w.Raw(name, []byte(value.Raw))
		}
		return true
	})
	w.Str("type", "function")
	w.Key("function")
	w.Open()
	members(&w)
	w.Close()
	w.Close()
	return w.Out
}

// changeElements returns the list with each element replaced with the result of change. An element for which change returns nil stays
// unchanged. changeElements returns nil if all elements stay unchanged.
func changeElements(list rawjson.Value, change func(rawjson.Value) []byte) []byte {
	if !list.IsList() {
		return nil
	}
	w, changed := rawjson.Writer{Out: []byte{'['}}, false
	for _, element := range list.List() {
		value := change(element)
		if value == nil {
			value = []byte(element.Raw)
		} else {
			changed = true
		}
		w.Element(value)
	}
	if !changed {
		return nil
	}
	w.CloseList()
	return w.Out
}

// changeMember returns the object with the given member replaced with the result of change. It returns nil if change returns nil.
func changeMember(object rawjson.Value, name string, change func(rawjson.Value) []byte) []byte {
	changed := change(object.Get(name))
	if changed == nil {
		return nil
	}
	var w rawjson.Writer
	w.Open()
	object.ForEach(func(key, value rawjson.Value) bool {
		if key.String() == name {
			w.Raw(name, changed)
		} else {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}
