package upstream

import (
	"context"
	"fmt"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
)

// MaxContinued is the maximum size of the delivered events that are stored for a continuation if they are not stored for the log.
const MaxContinued = 1 << 20

// Rescue continues an interrupted stream at another target, so that the client receives one continuous response. The other target receives
// the delivered text as the beginning of its response (a prefill), or it starts the response again, which is hidden until it has repeated the
// delivered text exactly.
type Rescue struct {
	series *Series
	format wire.Resumer
	sent   []byte // events that the client has received, one per line
	text   string // response text in sent
}

// CanContinue reports whether the stream of a request can be continued after an interruption.
func CanContinue(req *llm.Request) bool {
	return req.Op == llm.Chat && req.Stream && req.Choices <= 1
}

// NewRescue returns the rescue of a stream. folded holds the delivered events. ok is false if the stream cannot be continued because another
// target would fail in the same way, or because the events contain more than plain text. A response that a provider stopped because of its
// content is not continued.
func NewRescue(s *Series, e *llm.Error, folded []byte) (r *Rescue, ok bool) {
	if !e.Kind.NextMayHelp() || e.Kind == llm.UpstreamContext {
		return nil, false
	}
	format, ok := s.Format.(wire.Resumer)
	if !ok {
		return nil, false
	}
	sent := requestlog.Body{Response: folded, Folded: true}
	sent.Unfold()
	rest, ok := format.Resume(s.Terms.Request, sent.Response)
	return &Rescue{series: s, format: format, sent: sent.Response, text: rest.Text}, ok
}

// Warning returns the warning that describes the continuation to the client.
func (r *Rescue) Warning(broken, next *Attempt) string {
	how := ", which repeated the same text"
	if next.Prefilled > 0 {
		how = ""
	}
	return fmt.Sprintf("continued by %s after %d tokens%s", next.Target().ID(), r.tokens(broken.Target()), how)
}

// acceptsPrefill reports whether the conversation can end with a partial response. This is impossible if the output has a prescribed
// format, starts with reasoning, must be a tool call, or already has a prefill.
func (r *Rescue) acceptsPrefill() bool {
	req := r.series.Terms.Request
	if req.Needs&(llm.JSONMode|llm.JSONSchema|llm.Reasoning) != 0 {
		return false
	}
	conv, err := req.Translate()
	if err != nil {
		return false
	}
	n := len(conv.Messages)
	return n > 0 && conv.Messages[n-1].Role != llm.Assistant && conv.ToolChoice.Mode != llm.ChoiceMust
}

// outputLeft returns the number of output tokens that may follow the delivered text: 0 if there is no limit, negative if none are left.
func (r *Rescue) outputLeft(t *provider.Target) int64 {
	terms := r.series.Terms
	limit := max(terms.Request.MaxOutput, terms.OutputLimit(t))
	if limit == 0 {
		return 0
	}
	if left := limit - r.tokens(t); left > 0 {
		return left
	}
	return -1
}

// tokens estimates the token count of the delivered text for a target.
func (r *Rescue) tokens(t *provider.Target) int64 {
	var n textBytes
	n.add(r.text, 1)
	return r.series.Terms.OutputTokens(t, n.ascii, n.nonASCII)
}

// try makes one attempt to continue the response.
func (r *Rescue) try(ctx context.Context, o option, last bool) (*Attempt, error) {
	s, req := r.series, r.series.Terms.Request
	// Resume cannot fail, because it succeeded in New. It is called again, because a result can be used for only one response.
	rest, _ := r.format.Resume(req, r.sent)
	c := &continuation{delivered: rest.Text, prefilled: o.prefill}
	next := &resumption{request: req, maxOutput: s.Terms.OutputLimit(o.target), joiner: &joiner{s.Format, rest, c}, prefilled: o.prefill}
	if !o.prefill {
		return s.try(ctx, o.target, last, next)
	}
	text := strings.TrimRight(r.text, " \t\r\n") // providers reject a prefill that ends with white space
	c.withheld = r.text[len(text):]
	left := r.outputLeft(o.target)
	prefilled, err := r.format.Prefill(ctx, req, text, left)
	if err != nil {
		return nil, &llm.Error{Kind: llm.Untranslatable, Message: "the request cannot be sent with a prefill", Err: err}
	}
	prefilled.Controls.SessionID, prefilled.Beta = req.Controls.SessionID, req.Beta
	next.request = prefilled
	if next.maxOutput > 0 {
		next.maxOutput = left
	}
	a, err := s.try(ctx, o.target, last, next)
	if err == nil {
		a.Prefilled = r.tokens(o.target)
	}
	return a, err
}
