package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

// Permissions that do not depend on a workspace.
const (
	Public   account.Permission = "public"    // the operation needs no authentication
	SignedIn account.Permission = "signed_in" // the operation requires a session
)

// Operation is a registered operation.
type Operation struct {
	ID         string
	Method     string
	Path       string
	Permission account.Permission
}

// Operations lists every operation in the order of registration.
func (s *Server) Operations() []Operation {
	s.ready()
	return slices.Clone(s.operations)
}

// Output is a response with a body.
type Output[T any] struct{ Body T }

// Respond returns a response with a body.
func Respond[T any](body T) *Output[T] { return &Output[T]{Body: body} }

// NoContent is a response without a body.
type NoContent struct{}

// Parameterized is implemented by inputs whose query parameters are not declared as struct fields.
type Parameterized interface {
	QueryParameters() []*huma.Param
}

// Register adds an operation. Every operation is added with Register, so every operation has a permission. The permission is checked
// before the request is decoded.
func Register[I, O any](s *Server, perm account.Permission, op huma.Operation, handle func(context.Context, *Call, *I) (*O, error)) {
	op.Middlewares = huma.Middlewares{s.guard(perm)}
	op.MaxBodyBytes = maxBody + 1 // huma rejects a body of exactly this size
	op.BodyReadTimeout = 10 * time.Second
	op.Responses = map[string]*huma.Response{"default": s.errorResponse(), "200": op.Responses["200"]}
	if op.Responses["200"] == nil {
		delete(op.Responses, "200")
	}
	op.Extensions = map[string]any{"x-permission": string(perm)}
	s.documentAccess(perm, &op)
	if in, ok := any(*new(I)).(Parameterized); ok {
		op.Parameters = append(op.Parameters, in.QueryParameters()...)
	}
	s.operations = append(s.operations, Operation{ID: op.OperationID, Method: op.Method, Path: op.Path, Permission: perm})
	huma.Register(s.huma, op, func(ctx context.Context, in *I) (*O, error) {
		c, _ := ctx.Value(callKey{}).(*Call) // set by guard for every operation
		out, err := handle(ctx, c, in)
		if err != nil {
			return nil, problem{s.ClientError(ctx, c, err)}
		}
		return out, nil
	})
}

// documentAccess documents the authentication and the workspace parameter.
func (s *Server) documentAccess(perm account.Permission, op *huma.Operation) {
	switch perm {
	case Public:
		op.Security = []map[string][]string{}
	case SignedIn:
		op.Security = []map[string][]string{{"session": {}}}
	default:
		op.Security = []map[string][]string{{"session": {}}, {"key": {}}}
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: workspaceParam, In: "query", Schema: &huma.Schema{Type: huma.TypeString},
			Description: "Workspace ID for session authentication. Defaults to the first workspace of the account. Keys always use their own workspace.",
		})
	}
}

// ClientError returns the error that the caller receives. It logs internal errors.
func (s *Server) ClientError(ctx context.Context, c *Call, err error) *llm.Error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection.", Err: err}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &llm.Error{Kind: llm.Overloaded, Message: "The operation timed out. Use a narrower filter or try again.", Err: err}
	}
	e := AsError(err)
	if e.Kind == llm.Internal && s.Unreachable != nil && s.Unreachable(err) {
		e = &llm.Error{Kind: llm.LedgerUnavailable, Message: "The database is unavailable. Try again in a few seconds.", RetryAfter: time.Second, Err: err}
	}
	if e.Kind.Status() >= http.StatusInternalServerError {
		s.Log.ErrorContext(ctx, "admin operation failed", "request_id", c.RequestID, "operation", c.Operation().OperationID, "error", err)
	}
	in := "body"
	if m := c.Method(); m == http.MethodGet || m == http.MethodHead || m == http.MethodDelete {
		in = "query"
	}
	return listed(e, in)
}
