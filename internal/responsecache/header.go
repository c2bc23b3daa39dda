package responsecache

import (
	"net/http"
	"strings"

	"fairlead.dev/internal/llm"
)

// Header is the value of the header X-Fairlead-Cache in a request.
type Header string

// The values of the header.
const (
	HeaderUnset   Header = ""
	HeaderOn      Header = "on"
	HeaderOff     Header = "off"     // do not read or store responses
	HeaderRefresh Header = "refresh" // store responses, but do not read them
)

// ReadHeader returns the value of X-Fairlead-Cache. It returns InvalidRequest for an unknown value.
func ReadHeader(h http.Header) (Header, error) {
	values := h.Values("X-Fairlead-Cache")
	if len(values) == 0 {
		return HeaderUnset, nil
	}
	switch v := Header(strings.ToLower(strings.TrimSpace(values[0]))); v {
	case HeaderUnset, HeaderOn, HeaderOff, HeaderRefresh:
		if len(values) == 1 {
			return v, nil
		}
	}
	e := llm.Errorf(llm.InvalidRequest, "Send the header X-Fairlead-Cache once, with the value on, off or refresh.")
	e.Param = "X-Fairlead-Cache"
	return HeaderUnset, e
}
