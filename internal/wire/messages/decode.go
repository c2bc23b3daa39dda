package messages

import (
	"context"
	"fmt"
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
	maxTokens   = 1 << 53
)

// decoder reads one request.
type decoder struct {
	ctx      context.Context
	req      *llm.Request
	problems []strict.Problem
	seen     map[string]bool // top-level members with a value
	preview  string
}

// DecodeRequest checks a Messages request strictly and describes it. It checks the types of what routing, limits and
// money need, and leaves everything else to the provider. A request that only wants its tokens counted needs no max_tokens.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	fields, err := strict.Object(ctx, body)
	if err != nil {
		return nil, err
	}
	d := decoder{
		ctx:  ctx,
		req:  &llm.Request{Op: op, Format: Name, Body: body, Fields: fields, Choices: 1},
		seen: make(map[string]bool, len(fields)),
	}
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The messages format has no " + string(op) + "."})
	}
	for _, f := range fields {
		d.lookAlike("", f.Name, checkedFields)
		value := gjson.ParseBytes(body[f.Value:f.End])
		if value.Type != gjson.Null {
			d.seen[f.Name] = true
			d.member(f.Name, value)
		}
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	d.require(op)
	if len(d.problems) > 0 {
		return nil, strict.Reject(d.problems...)
	}
	d.req.Preview = d.preview
	return d.req, nil
}

// active reports whether the context lasts. Loops over the parts of a request end when it does not.
func (d *decoder) active() bool { return d.ctx.Err() == nil }

// checkedFields are the top-level members that we look at.
var checkedFields = []string{
	"model", "messages", "max_tokens", "stream", "system", "tools", "tool_choice", "thinking", "output_config", "output_format",
	"metadata", "temperature", "top_p", "top_k", "service_tier", "models", "provider", "session_id",
}

func (d *decoder) member(name string, v gjson.Result) {
	r := d.req
	switch name {
	case "model":
		d.name(name, v, &r.Model)
	case "messages":
		d.messages(v)
	case "max_tokens":
		r.MaxOutput = d.integer(name, v)
	case "stream":
		r.Stream = d.flag(name, v)
	case "system":
		d.system(v)
	case "tools":
		d.tools(v)
	case "mcp_servers":
		r.Hosted = true
		d.extra(v)
	case "tool_choice":
		d.is(name, v, v.IsObject(), "an object")
		d.lookAlikes("tool_choice.", v, choiceNames)
	case "thinking":
		d.lookAlikes("thinking.", v, thinkingNames)
		kind := v.Get("type").String()
		if d.is(name, v, v.IsObject(), "an object") && kind != "between_tools" && llm.Reasons(kind) {
			r.Needs |= llm.Reasoning
		}
	case "output_config":
		if d.is(name, v, v.IsObject(), "an object") {
			d.lookAlikes("output_config.", v, outputNames)
			d.outputFormat(v.Get("format"))
		}
	case "output_format":
		d.outputFormat(v)
	case "metadata":
		if d.is(name, v, v.IsObject(), "an object") {
			d.lookAlikes("metadata.", v, []string{"user_id"})
			d.label("metadata.user_id", v.Get("user_id"), &r.EndUser)
		}
	case "temperature", "top_p", "top_k":
		r.Sampling = append(r.Sampling, name)
	case "service_tier":
		d.label(name, v, &r.ServiceTier)
	case "models":
		r.Controls.Models = d.names(name, v)
	case "provider":
		d.provider(v)
	case "session_id":
		d.name(name, v, &r.Controls.SessionID)
	default:
		d.extra(v)
	}
}

func (d *decoder) require(op llm.Op) {
	if !d.seen["model"] && !d.hasProblem("model") {
		d.problem("model", `The field "model" is missing. Name a model, or "auto" to have one chosen.`)
	}
	if !d.seen["messages"] && !d.hasProblem("messages") {
		d.problem("messages", `The field "messages" is missing. Send a list with at least one message.`)
	}
	if op == llm.Chat && !d.seen["max_tokens"] && !d.hasProblem("max_tokens") {
		d.problem("max_tokens", `The field "max_tokens" is missing. Say how many tokens the answer may have.`)
	}
}

// hasProblem reports whether a problem names the field already, in whatever letters.
func (d *decoder) hasProblem(param string) bool {
	for _, p := range d.problems {
		if strings.EqualFold(p.Param, param) {
			return true
		}
	}
	return false
}

func (d *decoder) problem(param, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, strict.Problem{Param: param, Message: fmt.Sprintf(format, args...)})
	}
}

// lookAlike refuses a key that is one of names in other letters: some providers match keys without regard to case, and
// would then obey a field that nobody checked.
func (d *decoder) lookAlike(where, key string, names []string) {
	if name, found := strict.LookAlike(key, names...); found {
		d.problem(where+show.Cut(key, maxName), "The key %s looks like %q but is written differently. Spell it %q.", show.Quote(key), name, name)
	}
}

// lookAlikes refuses such keys in an object. where is the object's place, with a dot behind it.
func (d *decoder) lookAlikes(where string, v gjson.Result, names []string) {
	if v.IsObject() && d.active() {
		v.ForEach(func(key, _ gjson.Result) bool {
			d.lookAlike(where, key.String(), names)
			return true
		})
	}
}

// is records a problem when a value has the wrong type.
func (d *decoder) is(param string, v gjson.Result, ok bool, want string) bool {
	if !ok {
		d.problem(param, "%s must be %s; it is %s.", param, want, kindOf(v))
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
	case v.Type == gjson.True:
		return "true"
	case v.Type == gjson.False:
		return "false"
	}
	return "null"
}

// name reads a name that we act on: neither empty, nor long, nor with characters that cannot be seen.
func (d *decoder) name(param string, v gjson.Result, into *string) bool {
	if !d.is(param, v, v.Type == gjson.String, "a string") {
		return false
	}
	s := v.String()
	switch {
	case strings.TrimSpace(s) == "":
		d.problem(param, "%s must not be empty.", param)
	case len(s) > maxName:
		d.problem(param, "%s is %d bytes long; at most %d are allowed. It begins with %s.", param, len(s), maxName, show.Quote(s))
	case strings.ContainsFunc(s, show.Harmful) || strings.ContainsRune(s, utf8.RuneError):
		d.problem(param, "%s holds control characters: %s.", param, show.Quote(s))
	default:
		*into = s
		return true
	}
	return false
}

// names reads a list of names.
func (d *decoder) names(param string, v gjson.Result) []string {
	if v.Type == gjson.Null || !d.is(param, v, v.IsArray(), "a list of strings") {
		return nil
	}
	var list []string
	entries := v.Array()
	if len(entries) > maxNames {
		d.problem(param, "%s may have at most %d entries.", param, maxNames)
		return nil
	}
	for _, entry := range entries {
		var name string
		if d.name(param, entry, &name) {
			list = append(list, name)
		}
	}
	return list
}

// label reads a string that is only kept for the log, cut to a sane length.
func (d *decoder) label(param string, v gjson.Result, into *string) {
	if v.Type != gjson.Null && d.is(param, v, v.Type == gjson.String, "a string") {
		*into = show.Cut(v.String(), maxName)
	}
}

// flag reads true or false; a null is false.
func (d *decoder) flag(param string, v gjson.Result) bool {
	if v.Type != gjson.Null {
		d.is(param, v, v.IsBool(), "true or false")
	}
	return v.Type == gjson.True
}

// integer reads a whole number from 1.
func (d *decoder) integer(param string, v gjson.Result) int64 {
	if !d.is(param, v, v.Type == gjson.Number, "a whole number") {
		return 0
	}
	if n := v.Num; n >= 1 && n <= maxTokens && n == float64(int64(n)) {
		return int64(n)
	}
	d.problem(param, "%s must be a whole number from 1 to %d; it is %s.", param, int64(maxTokens), show.Cut(v.Raw, 60))
	return 0
}
