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
	c := functionConverter{}
	body := req.Replace(func(name string, value []byte) []byte {
		before := c.converted
		switch name {
		case "tools":
			value = eachElement(value, c.convert(functionTool))
		case "tool_choice":
			value = c.convert(c.functionChoice)(value)
		case "messages":
			value = eachElement(value, func(message []byte) []byte {
				return onMember(message, "tool_calls", func(calls []byte) []byte { return eachElement(calls, c.convert(convertCall)) })
			})
		}
		if c.converted == before {
			return nil // the value keeps its white space
		}
		return value
	})
	if c.converted == 0 {
		return nil
	}
	return body
}

// functionConverter counts the values that it has converted.
type functionConverter struct{ converted int }

// convert returns a function that replaces a value with the result of change, unless the result is nil.
func (c *functionConverter) convert(change func(rawjson.Value) []byte) func([]byte) []byte {
	return func(value []byte) []byte {
		if changed := change(rawjson.Parse(value)); changed != nil {
			c.converted++
			return changed
		}
		return value
	}
}

// onMember replaces the member with the given name of an object with the result of edit.
func onMember(object []byte, name string, edit func([]byte) []byte) []byte {
	return eachMember(object, func(key string, value []byte) []byte {
		if key == name {
			return edit(value)
		}
		return value
	})
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
func (c *functionConverter) functionChoice(v rawjson.Value) []byte {
	switch v.Get("type").String() {
	case "custom":
		return functionName(v)
	case "allowed_tools":
		before := c.converted
		changed := onMember([]byte(v.Raw), "allowed_tools", func(allowed []byte) []byte {
			return onMember(allowed, "tools", func(tools []byte) []byte { return eachElement(tools, c.convert(functionName)) })
		})
		if c.converted > before {
			return changed
		}
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
