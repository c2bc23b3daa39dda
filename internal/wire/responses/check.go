package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
	"fairlead/internal/wire/strict"
)

// Bounds of what a request may name.
const (
	maxProblems = 20
	maxName     = 256 // bytes of a model name, a session id or an end user's name
	maxNames    = 64  // entries of models, and of each list in provider
	maxLabels   = 64
	maxLabel    = 512
	maxTokens   = 1 << 53
)

// requestReader reads one request: what routing needs to know of it, and the conversation. Every problem is noted.
type requestReader struct {
	ctx      context.Context
	req      *llm.Request
	conv     *llm.Conversation
	problems []strict.Problem

	toolNames      map[string]string           // by the id of the call
	callSignatures map[string]wrappedSignature // by the id of the call

	spoke, called bool // whether the last message has a text, and a tool call
}

func (r *requestReader) problem(param, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, strict.Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *requestReader) hasProblem(param string) bool {
	return slices.ContainsFunc(r.problems, func(p strict.Problem) bool { return p.Param == param })
}

// is records a problem when a value has the wrong type. A null is absent, and no problem.
func (r *requestReader) is(param string, v gjson.Result, ok bool, want string) bool {
	if !ok && v.Type != gjson.Null {
		r.problem(param, "%s must be %s; it is %s.", param, want, kindOf(v))
	}
	return ok
}

func kindOf(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "a list"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	}
	return v.Raw // true, false
}

func (r *requestReader) object(param string, v gjson.Result) bool {
	return r.is(param, v, v.IsObject(), "an object")
}

// lookAlikes refuses keys of an object that are one of the members we read, in other letters: see strict.LookAlike.
func (r *requestReader) lookAlikes(param string, v gjson.Result, names []string) {
	if !v.IsObject() || r.ctx.Err() != nil {
		return
	}
	v.ForEach(func(key, _ gjson.Result) bool {
		r.lookAlike(param+".", key.String(), names)
		return true
	})
}

func (r *requestReader) lookAlike(where, key string, names []string) {
	if name, found := strict.LookAlike(key, names...); found {
		r.problem(where+show.Cut(key, maxName), "The key %s looks like %q but is written differently. Spell it %q.", show.Quote(key), name, name)
	}
}

// The members that are read of each object.
var (
	requestNames = []string{
		"model", "models", "provider", "session_id", "metadata", "stream", "background", "user", "safety_identifier", "service_tier",
		"instructions", "input", "max_output_tokens", "temperature", "top_p", "parallel_tool_calls", "tools", "tool_choice", "text",
		"reasoning", "truncation", "include", "previous_response_id", "conversation", "prompt",
	}
	providerNames = []string{
		"order", "only", "ignore", "allow_fallbacks", "require_parameters", "best_effort", "sort", "max_price", "data_collection", "zdr",
	}
	priceNames = []string{"prompt", "completion"}
	itemNames  = []string{
		"type", "role", "content", "call_id", "name", "arguments", "input", "output", "encrypted_content", "summary",
	}
	partNames = []string{
		"type", "text", "refusal", "image_url", "file_id", "detail", "file_url", "file_data", "filename", "input_audio",
		"prompt_cache_breakpoint",
	}
	audioNames      = []string{"format", "data"}
	toolMemberNames = []string{"type", "name", "description", "parameters", "strict", "format"}
	choiceNames     = []string{"type", "name", "mode", "tools"}
	textNames       = []string{"format", "verbosity"}
	formatNames     = []string{"type", "name", "description", "schema", "strict"}
	reasoningNames  = []string{"effort"}
)

func (r *requestReader) list(param string, v gjson.Result) []gjson.Result {
	if !r.is(param, v, v.IsArray(), "a list") {
		return nil
	}
	return v.Array()
}

func (r *requestReader) text(param string, v gjson.Result) string {
	if !r.is(param, v, v.Type == gjson.String, "a string") {
		return ""
	}
	return v.String()
}

func (r *requestReader) flag(param string, v gjson.Result) *bool {
	if !r.is(param, v, v.IsBool(), "true or false") {
		return nil
	}
	yes := v.Bool()
	return &yes
}

// number reads a number as it is written.
func (r *requestReader) number(param string, v gjson.Result) json.Number {
	if !r.is(param, v, v.Type == gjson.Number, "a number") {
		return ""
	}
	return json.Number(v.Raw)
}

// integer reads a whole number from 1; 0 when there is none.
func (r *requestReader) integer(param string, v gjson.Result) int64 {
	if !r.is(param, v, v.Type == gjson.Number, "a whole number") {
		return 0
	}
	if n := v.Num; n >= 1 && n <= maxTokens && n == math.Trunc(n) {
		return int64(n)
	}
	r.problem(param, "%s must be a whole number from 1 to %d; it is %s.", param, int64(maxTokens), show.Cut(v.Raw, 60))
	return 0
}

// raw is the value as the caller wrote it; nil for none.
func raw(v gjson.Result) json.RawMessage {
	if v.Type == gjson.Null {
		return nil
	}
	return json.RawMessage(v.Raw)
}

// name reads a name that we act on: neither empty, nor long, nor with characters that cannot be seen.
func (r *requestReader) name(param string, v gjson.Result) string {
	if !r.is(param, v, v.Type == gjson.String, "a string") {
		return ""
	}
	s := v.String()
	switch {
	case strings.TrimSpace(s) == "":
		r.problem(param, "%s must not be empty.", param)
	case len(s) > maxName:
		r.problem(param, "%s is %d bytes long; at most %d are allowed. It begins with %s.", param, len(s), maxName, show.Quote(s))
	case strings.ContainsFunc(s, show.Harmful) || strings.ContainsRune(s, utf8.RuneError):
		r.problem(param, "%s holds control characters: %s.", param, show.Quote(s))
	default:
		return s
	}
	return ""
}

func (r *requestReader) names(param string, v gjson.Result) []string {
	var list []string
	for n, entry := range r.list(param, v) {
		if n == maxNames {
			r.problem(param, "%s may have at most %d entries.", param, maxNames)
			break
		}
		if name := r.name(param, entry); name != "" {
			list = append(list, name)
		}
	}
	return list
}

// label reads a string that is only kept for the log, cut to a sane length.
func (r *requestReader) label(param string, v gjson.Result) string {
	return show.Cut(r.text(param, v), maxName)
}

// oneOf reads a string out of a closed list.
func (r *requestReader) oneOf(param string, v gjson.Result, allowed ...string) string {
	s := r.text(param, v)
	if s != "" && !slices.Contains(allowed, s) {
		r.problem(param, "%s must be one of %s; it is %s.", param, strings.Join(allowed, ", "), show.Quote(s))
		return ""
	}
	return s
}

// provider reads the wishes about providers. Members of other gateways that mean nothing here are let through.
func (r *requestReader) provider(v gjson.Result) {
	if !r.object("provider", v) {
		return
	}
	yes := func(flag *bool) bool { return flag != nil && *flag }
	r.lookAlikes("provider", v, providerNames)
	r.lookAlikes("provider.max_price", v.Get("max_price"), priceNames)
	w := &r.req.Controls.Provider
	w.Order = r.names("provider.order", v.Get("order"))
	w.Only = r.names("provider.only", v.Get("only"))
	w.Ignore = r.names("provider.ignore", v.Get("ignore"))
	allowed := r.flag("provider.allow_fallbacks", v.Get("allow_fallbacks"))
	w.NoFallbacks = allowed != nil && !*allowed
	w.RequireParameters = yes(r.flag("provider.require_parameters", v.Get("require_parameters")))
	w.BestEffort = yes(r.flag("provider.best_effort", v.Get("best_effort")))
	w.Sort = r.oneOf("provider.sort", v.Get("sort"), "price", "latency", "throughput")
	w.DenyCollection = r.oneOf("provider.data_collection", v.Get("data_collection"), "allow", "deny") == "deny"
	w.ZeroRetention = yes(r.flag("provider.zdr", v.Get("zdr")))
	if limit := v.Get("max_price"); r.object("provider.max_price", limit) {
		w.MaxPrice = &llm.MaxPrice{
			Prompt:     r.price("provider.max_price.prompt", limit.Get("prompt")),
			Completion: r.price("provider.max_price.completion", limit.Get("completion")),
		}
	}
}

// price reads a number of dollars, which clients send as a number or as a string.
func (r *requestReader) price(param string, v gjson.Result) *float64 {
	if v.Type == gjson.Null {
		return nil
	}
	text := v.Raw
	if v.Type == gjson.String {
		text = v.String()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		r.problem(param, "%s must be a number of dollars per million tokens, at least 0; it is %s.", param, show.Quote(text))
		return nil
	}
	return &f
}

func (r *requestReader) metadata(v gjson.Result) {
	if !r.object("metadata", v) {
		return
	}
	labels := map[string]string{}
	v.ForEach(func(key, value gjson.Result) bool {
		if value.Type == gjson.String && len(labels) < maxLabels {
			labels[show.Cut(key.String(), maxLabel)] = show.Cut(value.String(), maxLabel)
		}
		return true
	})
	if len(labels) > 0 {
		r.req.Metadata = labels
	}
}
