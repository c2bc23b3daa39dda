package adminapi

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/requestlog"
)

// problem wraps an llm.Error for huma, which requires a GetStatus method.
type problem struct{ fault *llm.Error }

func (p problem) Error() string { return p.fault.Error() }

// GetStatus implements huma.StatusError.
func (p problem) GetStatus() int { return p.fault.Status() }

// Problem describes one error in a request.
type Problem struct {
	In         string `json:"in" enum:"body,query,path,header" doc:"Part of the request that is invalid."`
	Param      string `json:"param" doc:"Field name, such as budget.amount_usd."`
	Message    string `json:"message" doc:"Why the value is invalid."`
	Suggestion string `json:"suggestion,omitempty" doc:"Closest valid name."`

	// Position in a policy document.
	Line   int    `json:"line,omitempty" doc:"Line in the policy document, starting at 1."`
	Column int    `json:"column,omitempty" doc:"Column in characters, starting at 1."`
	Width  int    `json:"width,omitempty" doc:"Number of characters to highlight."`
	Path   string `json:"path,omitempty" doc:"Path in the policy document, such as policies[2].when."`
	Hint   string `json:"hint,omitempty" doc:"Suggested correction."`
	Code   string `json:"code,omitempty" doc:"Problem code, listed in the documentation." example:"E2031"`
}

// AsError converts an error of another package to the error sent to the API caller.
func AsError(err error) *llm.Error {
	known, ok := errors.AsType[*llm.Error](err)
	switch {
	case ok:
		return known
	case errors.Is(err, account.ErrNotFound), errors.Is(err, requestlog.ErrNotFound), errors.Is(err, policystore.ErrNotFound):
		return NotFound()
	case errors.Is(err, requestlog.ErrTooSlow):
		return &llm.Error{Kind: llm.InvalidRequest, Message: "The search timed out. Choose a shorter time range or a narrower filter.", Param: "from", Err: err}
	case errors.Is(err, account.ErrConflict):
		return &llm.Error{Kind: llm.Conflict, Message: "An object with this name or address already exists.", Err: err}
	}
	return llm.AsError(err)
}

// NotFound returns the same error for unknown IDs and for IDs of other workspaces.
func NotFound() *llm.Error {
	return llm.Errorf(llm.NotFound, "Not found.")
}

// MaxProblems is the maximum number of problems in a response.
const MaxProblems = 50

// Invalid returns an error for one field of a request.
func Invalid(in, param, message string) *llm.Error {
	return InvalidAll([]Problem{{In: in, Param: param, Message: message}})
}

// InvalidAll returns an error with several problems.
func InvalidAll(problems []Problem) *llm.Error {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Param, b.Param) })
	problems = problems[:min(len(problems), MaxProblems)]
	first := problems[0]
	sentence := first.Message
	if first.Param != "" {
		sentence = first.Param + ": " + first.Message
	}
	if first.Suggestion != "" {
		sentence += "; did you mean " + strconv.Quote(first.Suggestion) + "?"
	}
	e := llm.Errorf(llm.InvalidRequest, "Invalid request: %s", sentence)
	e.Param = first.Param
	return e.With("problems", problems)
}

// listed adds a list with one problem to an error of another package. It returns e unchanged if e already has such a list. It also
// returns e unchanged if e names no field and is not InvalidRequest, for example after a sign-in with a wrong password.
func listed(e *llm.Error, in string) *llm.Error {
	if (e.Kind != llm.InvalidRequest && e.Param == "") || e.Details["problems"] != nil {
		return e
	}
	copied := *e // the original may be shared
	copied.Details = maps.Clone(e.Details)
	return copied.With("problems", []Problem{{In: in, Param: e.Param, Message: e.Message}})
}

// transform encodes errors returned by operations, and errors that huma returns while it decodes a request.
func (s *Server) transform(ctx huma.Context, _ string, v any) (any, error) {
	var e *llm.Error
	switch v := v.(type) {
	case problem:
		e = v.fault
	case *huma.ErrorModel:
		e = s.fromHuma(ctx, v)
	default:
		return v, nil
	}
	call, _ := ctx.(*Call)
	call.fault = e
	setHeaders := http.Header{}
	headers(setHeaders, e)
	for name := range setHeaders {
		ctx.SetHeader(name, setHeaders.Get(name))
	}
	return errorBody(call.ErrorBody(e)), nil
}

// errorBody is an encoded error.
type errorBody []byte

// fromHuma converts a huma error to an llm.Error.
func (s *Server) fromHuma(ctx huma.Context, m *huma.ErrorModel) *llm.Error {
	switch m.Status {
	case http.StatusUnsupportedMediaType:
		return llm.Errorf(llm.UnsupportedMediaType, "The request body must be JSON. Send content-type: application/json.")
	case http.StatusRequestEntityTooLarge:
		return llm.Errorf(llm.PayloadTooLarge, "The request body is larger than %d bytes.", maxBody)
	case http.StatusRequestTimeout:
		return llm.Errorf(llm.InvalidRequest, "The request body was not received in time.")
	case http.StatusBadRequest:
		for _, d := range m.Errors {
			if d.Location == "body" {
				return llm.Errorf(llm.InvalidJSON, "The request body is not valid JSON: %s.", d.Message)
			}
		}
		return Invalid("body", "", "a JSON body is required")
	case http.StatusInternalServerError: // huma returns 500 only for an incomplete body or malformed chunks
		return llm.Errorf(llm.InvalidRequest, "The request body is incomplete.")
	case http.StatusUnprocessableEntity:
		return InvalidAll(s.problems(ctx.Operation(), m.Errors))
	}
	return llm.AsError(errors.New(m.Detail))
}

// problems converts huma's error details. It omits the values that huma includes, because they can be passwords.
func (s *Server) problems(op *huma.Operation, details []*huma.ErrorDetail) []Problem {
	slices.SortStableFunc(details, func(a, b *huma.ErrorDetail) int { return cmp.Compare(a.Location, b.Location) })
	list := []Problem{}
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	for _, d := range details[:min(len(details), MaxProblems)] {
		in, param, _ := strings.Cut(d.Location, ".")
		p := Problem{In: in, Param: param, Message: d.Message}
		if d.Message == validation.MsgUnexpectedProperty {
			p.Message = "unknown field"
			p.Suggestion = s.nearestField(op, param)
		}
		rest, missing := strings.CutPrefix(d.Message, before)
		if name, ok := strings.CutSuffix(rest, after); missing && ok { // for a missing field, huma reports the parent object
			p.Param, p.Message = strings.TrimPrefix(param+"."+name, "."), "is required"
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		list = append(list, Problem{In: "body", Message: "does not match the schema"})
	}
	return list
}

// headers sets headers that describe the error, so that clients do not have to parse the body.
func headers(h http.Header, e *llm.Error) {
	h.Set("Content-Type", "application/json")
	h.Set("X-Fairlead-Error-Code", e.Kind.Code())
	h.Set("X-Should-Retry", strconv.FormatBool(e.Retryable()))
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if allowed, ok := e.Details["allow"].([]string); ok {
		h.Set("Allow", strings.Join(allowed, ", "))
	}
}
