package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
)

// resolve returns the target of a reference inside the document.
func (c *converter) resolve(ref string) (json.RawMessage, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	at, pointer := c.root, ""
	for _, step := range strings.Split(rest, "/")[1:] {
		byName, known := c.found[pointer]
		if !known {
			m, _ := readMembers(at)
			byName = make(map[string]json.RawMessage, len(m))
			for _, one := range m {
				byName[one.name] = one.value
			}
			c.found[pointer] = byName
		}
		if at = byName[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]; at == nil {
			return nil, false
		}
		pointer += "/" + step
	}
	return at, true
}

// members holds the members of a JSON object, in order.
type members []struct {
	name  string
	value json.RawMessage
}

func (m members) get(name string) json.RawMessage {
	for _, one := range m {
		if one.name == name {
			return one.value
		}
	}
	return nil
}

// readMembers decodes the members of an object. It returns false for any other value.
func readMembers(raw json.RawMessage) (members, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, false
	}
	var m members
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return nil, false
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, false
		}
		m = append(m, struct {
			name  string
			value json.RawMessage
		}{name, value})
	}
	return m, true
}

func readList(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// text returns the value of a JSON string, or an empty string.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// number returns raw if it is a JSON number, otherwise nil.
func number(raw json.RawMessage) json.RawMessage {
	var n json.Number
	if len(raw) == 0 || raw[0] == '"' || json.Unmarshal(raw, &n) != nil || n == "" {
		return nil
	}
	return raw
}
