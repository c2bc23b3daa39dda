package responsesstream

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// object is a response object, read in one pass.
type object struct {
	status, tier               string
	failure, incomplete, usage []byte // JSON; nil when absent or null
	searches                   int64  // number of web searches
	fault                      bool   // whether the document is an error instead of a response
	hasOutput                  bool
	calls                      bool // whether the output has a tool call that the client must run
	ascii, other               int  // number of text bytes that the model wrote

	edits [3]edit // members whose value may be replaced for the client, in document order
	count int     // number of edits
}

// edit is a member whose value may be replaced.
type edit struct {
	kind  editKind
	at    span
	value []byte // decoded value
}

type editKind int

const (
	editModel editKind = iota
	editID
	editPrevious
)

// readObject reads the response object at the given position. It returns false for a value that is not a JSON object.
func readObject(data []byte, at span) (object, bool) {
	var o object
	s := rawjson.Scanner{Data: data[:at.to], Pos: at.from}
	if s.Kind() != '{' {
		return o, false
	}
	for key := range s.Members {
		kind := s.Kind()
		switch string(key) {
		case "model":
			o.edit(&s, kind, editModel)
		case "id":
			o.edit(&s, kind, editID)
		case "previous_response_id":
			o.edit(&s, kind, editPrevious)
		case "status":
			o.status = readText(&s, kind)
		case "service_tier":
			o.tier = readText(&s, kind)
		case "type":
			o.fault = readText(&s, kind) == "error"
		case "error":
			o.failure = s.RawOrNil()
		case "incomplete_details":
			o.incomplete = s.RawOrNil()
		case "usage":
			o.usage = s.RawOrNil()
		case "tool_usage":
			o.searches = max(o.searches, toolSearches(rawjson.Parse(s.RawOrNil())))
		case "output":
			if o.hasOutput = kind == '['; o.hasOutput {
				o.output(&s)
			}
		}
	}
	s.End()
	o.ascii, o.other = s.ASCII, s.NonASCII
	return o, s.Err == nil
}

func (o *object) edit(s *rawjson.Scanner, kind byte, what editKind) {
	if kind != '"' || o.count == len(o.edits) {
		return
	}
	at := span{from: s.Pos}
	value := s.Unquote(s.ReadString())
	at.to = s.Pos
	o.edits[o.count] = edit{what, at, value}
	o.count++
}

// output reads the list of output items.
func (o *object) output(s *rawjson.Scanner) {
	searches := int64(0)
	for range s.Elements {
		if s.Kind() != '{' {
			continue
		}
		from, search := s.Pos, false
		for key := range s.Members {
			kind := s.Kind()
			switch string(key) {
			case "type":
				if kind == '"' {
					name := string(s.Unquote(s.ReadString()))
					o.calls = o.calls || IsCall(name)
					search = name == searchItem
				}
			case "arguments", "input":
				countString(s, kind)
			case "content", "summary":
				if kind == '[' {
					countParts(s)
				}
			}
		}
		if search && s.Err == nil {
			searches += Searches(rawjson.Parse(s.Data[from:s.Pos]))
		}
	}
	o.searches = max(o.searches, searches)
}

// countParts adds the lengths of the texts and refusals in the parts of an output item to the counts.
func countParts(s *rawjson.Scanner) {
	for range s.Elements {
		if s.Kind() != '{' {
			continue
		}
		for key := range s.Members {
			if kind := s.Kind(); string(key) == "text" || string(key) == "refusal" {
				countString(s, kind)
			}
		}
	}
}

func countString(s *rawjson.Scanner, kind byte) {
	if kind == '"' {
		s.Count = true
		s.ReadString()
		s.Count = false
	}
}

func readText(s *rawjson.Scanner, kind byte) string {
	if kind != '"' {
		return ""
	}
	return string(s.Unquote(s.ReadString()))
}

// finishReason returns the finish reason of the chat format. It is empty while the response is not complete.
func (o *object) finishReason() string {
	return finishOf(o.status, func() string { return rawjson.Get(o.incomplete, "reason").String() }, func() bool { return o.calls })
}

func (o *object) usageCounts() *llm.Usage { return usageOf(o.usage, o.tier, o.searches) }

func (o *object) err() *llm.Error { return failureOf(o.status, o.failure) }
