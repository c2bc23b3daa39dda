package openai

import (
	"net/http"
)

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

func BadRequest(message, param, code string) Error {
	return Error{Status: http.StatusBadRequest, Message: message, Type: InvalidRequest, Param: Optional(param), Code: Optional(code)}
}

func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
