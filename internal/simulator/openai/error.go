package openai

import (
	"net/http"
)

// InvalidRequest is the error type of an invalid request.
const InvalidRequest = "invalid_request_error"

// Error is the error object of the chat format.
type Error struct {
	Status  int               `json:"-"`
	Header  map[string]string `json:"-"`
	Message string            `json:"message"`
	Type    string            `json:"type"`
	Param   *string           `json:"param"`
	Code    *string           `json:"code"`
}

func (e Error) Error() string { return e.Message }

// BadRequest returns an error with status 400. An empty param or code is encoded as null.
func BadRequest(message, param, code string) Error {
	return Error{Status: http.StatusBadRequest, Message: message, Type: InvalidRequest, Param: Optional(param), Code: Optional(code)}
}

// Optional returns a pointer to text, or nil if text is empty.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
