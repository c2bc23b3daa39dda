package openai

import "fairlead.dev/internal/rawjson"

// Names of members that the gateway adds to chat responses to hold the signatures of providers that use other formats.
const (
	blocksMember = "thinking_blocks"
	extraMember  = "extra_content"
)

// withoutSignatures returns the messages without the signatures that the gateway added, because many providers reject
// unknown members.
func withoutSignatures(messages []byte) []byte {
	return eachElement(messages, func(message []byte) []byte {
		return eachMember(message, func(key string, value []byte) []byte {
			switch key {
			case blocksMember:
				return eachElement(value, func(block []byte) []byte {
					if hasMember(block, "provider") { // blocks without this member were not added by the gateway
						return nil
					}
					return block
				})
			case "tool_calls":
				return eachElement(value, func(call []byte) []byte {
					return eachMember(call, func(key string, value []byte) []byte {
						if key == extraMember && hasMember(value, "fairlead") {
							return nil
						}
						return value
					})
				})
			}
			return value
		})
	})
}

func hasMember(object []byte, name string) (found bool) {
	s := rawjson.Scanner{Data: object}
	if s.Kind() != '{' {
		return false
	}
	for key := range s.Members {
		found = found || string(key) == name
	}
	return found
}

// eachElement edits a list. edit returns the new value of an element, or nil to remove the element. If the list becomes
// empty, eachElement returns nil. It returns a value that is not a list unchanged.
func eachElement(list []byte, edit func([]byte) []byte) []byte {
	s := rawjson.Scanner{Data: list}
	if s.Kind() != '[' {
		return list
	}
	out, had := []byte{'['}, false
	for range s.Elements {
		had = true
		if value := edit(s.Raw()); value != nil {
			out = append(comma(out, '['), value...)
		}
	}
	if had && len(out) == 1 {
		return nil
	}
	return append(out, ']')
}

// eachMember edits the members of an object like eachElement edits the elements of a list.
func eachMember(object []byte, edit func(key string, value []byte) []byte) []byte {
	s := rawjson.Scanner{Data: object}
	if s.Kind() != '{' {
		return object
	}
	out := []byte{'{'}
	for key := range s.Members {
		name := string(key)
		if value := edit(name, s.Raw()); value != nil {
			out = append(rawjson.AppendString(comma(out, '{'), name), ':')
			out = append(out, value...)
		}
	}
	return append(out, '}')
}

func comma(out []byte, opening byte) []byte {
	if len(out) == 1 && out[0] == opening {
		return out
	}
	return append(out, ',')
}
