package responsesstream

import (
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/sse"
)

// frame is an event of a stream, read in one pass.
type frame struct {
	name         []byte // the "type" member, or the event name if there is none
	data         []byte
	response     span // the "response" member
	item         span // the "item" member
	fault        bool // whether the frame reports an error
	ascii, other int  // number of text bytes in the "delta" member
}

// span is the position of a JSON value in a document. The zero span means that the value is missing.
type span struct{ from, to int }

func (s span) of(data []byte) []byte { return data[s.from:s.to] }

// readFrame reads an event. It returns false for data that is not a JSON object.
func readFrame(in sse.Event) (frame, bool) {
	f := frame{name: in.Name, data: in.Data}
	s := rawjson.Scanner{Data: in.Data}
	if s.Kind() != '{' {
		return f, false
	}
	for key := range s.Members {
		kind := s.Kind()
		at := span{from: s.Pos}
		switch string(key) {
		case "type":
			if kind == '"' {
				if name := s.Unquote(s.ReadString()); len(name) > 0 {
					f.name = name
				}
			}
		case "delta":
			if kind == '"' {
				s.Count = true
				s.ReadString()
				s.Count = false
			}
		case "error":
			f.fault = kind == '{'
		case "response":
			s.Skip()
			at.to = s.Pos
			f.response = at
		case "item":
			s.Skip()
			at.to = s.Pos
			f.item = at
		}
	}
	s.End()
	f.ascii, f.other = s.ASCII, s.NonASCII
	f.fault = f.fault || string(f.name) == "error"
	return f, s.Err == nil
}
