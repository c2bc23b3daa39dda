// Package rescue continues an interrupted stream at another target, so that the client receives one continuous response. The other target
// receives the delivered text as the beginning of its response (a prefill), or it starts the response again, which is hidden until it has
// repeated the delivered text exactly.
package rescue

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/gateway/upstream"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
)

// MaxBytes is the maximum size of the delivered events that are stored for a continuation if they are not stored for the log.
const MaxBytes = 1 << 20

// Rescuer continues the stream of one request after an interruption.
type Rescuer struct {
	series *upstream.Series
	format wire.Resumer
	sent   []byte // events that the client has received, one per line
	text   string // response text in sent
}

// Supports reports whether the stream of a request can be continued after an interruption.
func Supports(req *llm.Request) bool {
	return req.Op == llm.Chat && req.Stream && req.Choices <= 1
}

// New returns a rescuer for a stream. folded holds the delivered events. ok is false if the stream cannot be continued because another
// target would fail in the same way, or because the events contain more than plain text. A response that a provider stopped because of its
// content is not continued.
func New(s *upstream.Series, e *llm.Error, folded []byte) (r *Rescuer, ok bool) {
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
	return &Rescuer{series: s, format: format, sent: sent.Response, text: rest.Text}, ok
}

// option is a target that can continue the response, with a prefill or from the start.
type option struct {
	target  *provider.Target
	prefill bool
	repeat  bool // whether the target has just failed and its retry must wait
}

// Continue tries targets until one of them continues the delivered text. It returns nil if no target does. If a target that starts again
// produces different text, the search ends, because other targets would probably also produce different text. After a failed prefill, the
// same target may start again.
func (r *Rescuer) Continue(ctx context.Context, broken *upstream.Attempt, e *llm.Error) *upstream.Attempt {
	s := r.series
	options := r.options(ctx, broken, e)
	byPrefill := []llm.Kind{llm.UpstreamRejected, llm.UpstreamUnsupported, llm.Untranslatable, llm.ContinuationMismatch} // errors that the prefill may have caused
	for len(options) > 0 && s.Left() > 0 {
		o, before := options[0], len(s.Attempts)
		options = options[1:]
		if o.repeat && !s.Repeat(ctx, o.target, e) {
			return nil
		}
		next, err := r.try(ctx, o, len(options) == 0 || s.Left() == 1)
		switch {
		case err == nil:
			return next
		case ctx.Err() != nil:
			return nil
		case o.prefill && slices.Contains(byPrefill, llm.AsError(err).Kind):
			for i := before; i < len(s.Attempts); i++ { // replace the provider's message, which may quote text that the caller did not send
				s.Attempts[i].Message = "did not continue the delivered text"
			}
			if s.Dispatcher.Admission.AllowRepeat(o.target.ID()) {
				options = append([]option{{target: o.target}}, options...)
			}
		case !llm.AsError(err).Kind.NextMayHelp():
			return nil
		}
	}
	return nil
}

// Warning returns the warning that describes the continuation to the client.
func (r *Rescuer) Warning(broken, next *upstream.Attempt) string {
	how := ", which repeated the same text"
	if next.Prefilled > 0 {
		how = ""
	}
	return fmt.Sprintf("continued by %s after %d tokens%s", next.Target().ID(), r.tokens(broken.Target()), how)
}

// options lists the targets that can continue the response: first the targets that accept a prefill, then the targets that start the
// response again. The failed target is retried if no other target remains, unless it timed out.
func (r *Rescuer) options(ctx context.Context, broken *upstream.Attempt, e *llm.Error) []option {
	fresh := slices.DeleteFunc(slices.Clone(r.series.Plan), r.series.Tried)
	same := len(fresh) == 0 && upstream.RetrySame(e)
	if same {
		fresh = append(fresh, broken.Target())
	}
	var prefills, restarts []option
	accepts := strings.TrimSpace(r.text) != "" && r.acceptsPrefill(ctx)
	for _, t := range fresh {
		if accepts && t.Model.Abilities.Has(llm.Prefill) && r.outputLeft(t) >= 0 {
			prefills = append(prefills, option{target: t, prefill: true, repeat: same})
		} else {
			restarts = append(restarts, option{target: t, repeat: same})
		}
	}
	return append(prefills, restarts...)
}

// acceptsPrefill reports whether the conversation can end with a partial response. This is impossible if the output has a prescribed
// format, starts with reasoning, must be a tool call, or already has a prefill.
func (r *Rescuer) acceptsPrefill(ctx context.Context) bool {
	req := r.series.Terms.Request
	if req.Needs&(llm.JSONMode|llm.JSONSchema|llm.Reasoning) != 0 {
		return false
	}
	conv, err := r.series.Format.Conversation(ctx, req)
	if err != nil {
		return false
	}
	n := len(conv.Messages)
	return n > 0 && conv.Messages[n-1].Role != llm.Assistant && conv.ToolChoice.Mode != llm.ChoiceMust
}

// outputLeft returns the number of output tokens that may follow the delivered text: 0 if there is no limit, negative if none are left.
func (r *Rescuer) outputLeft(t *provider.Target) int64 {
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
func (r *Rescuer) tokens(t *provider.Target) int64 {
	var n textBytes
	n.add(r.text, 1)
	return r.series.Terms.OutputTokens(t, n.ascii, n.nonASCII)
}

// try makes one attempt to continue the response.
func (r *Rescuer) try(ctx context.Context, o option, last bool) (*upstream.Attempt, error) {
	s, req := r.series, r.series.Terms.Request
	// Resume cannot fail, because it succeeded in New. It is called again, because a result can be used for only one response.
	rest, _ := r.format.Resume(req, r.sent)
	c := &continuation{delivered: rest.Text, prefilled: o.prefill}
	next := &upstream.Continuation{Request: req, MaxOutput: s.Terms.OutputLimit(o.target), Joiner: &joiner{s.Format, rest, c}, Prefilled: o.prefill}
	if !o.prefill {
		return s.Try(ctx, o.target, last, next)
	}
	text := strings.TrimRight(r.text, " \t\r\n") // providers reject a prefill that ends with white space
	c.withheld = r.text[len(text):]
	left := r.outputLeft(o.target)
	prefilled, err := r.format.Prefill(ctx, req, text, left)
	if err != nil {
		return nil, &llm.Error{Kind: llm.Untranslatable, Message: "the request cannot be sent with a prefill", Err: err}
	}
	prefilled.Measure()
	prefilled.Controls.SessionID, prefilled.Beta = req.Controls.SessionID, req.Beta
	next.Request = prefilled
	if next.MaxOutput > 0 {
		next.MaxOutput = left
	}
	a, err := s.Try(ctx, o.target, last, next)
	if err == nil {
		a.Prefilled = r.tokens(o.target)
	}
	return a, err
}
