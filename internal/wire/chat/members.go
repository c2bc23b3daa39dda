package chat

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"fairlead/internal/wire/show"
)

// fieldNames are the top-level names that requests usually have; true marks those that we look at. A table keeps the
// names from being copied for every request.
var fieldNames = fieldTable(map[string]bool{
	"model": true, "messages": true, "stream": true, "stream_options": true, "n": true,
	"max_tokens": true, "max_completion_tokens": true, "tools": true, "functions": true,
	"parallel_tool_calls": true, "response_format": true, "modalities": true, "models": true,
	"provider": true, "session_id": true, "user": true, "safety_identifier": true, "metadata": true,
	"service_tier": true, "temperature": true, "top_p": true, "presence_penalty": true,
	"frequency_penalty": true, "logprobs": true, "top_logprobs": true, "logit_bias": true,
	"reasoning_effort": true, "reasoning": true, "thinking": true,
	"input": true, "dimensions": true, "encoding_format": true, "prompt": true, "suffix": true, "best_of": true,
	"seed": false, "stop": false, "tool_choice": false, "function_call": false, "audio": false,
	"verbosity": false, "prediction": false, "prompt_cache_key": false, "store": false, "top_k": false,
	"min_p": false, "repetition_penalty": false, "chat_template_kwargs": false, "web_search_options": false,
	"search_parameters": false, "plugins": false, "echo": false,
})

type fieldName struct {
	name    string
	checked bool
}

func fieldTable(names map[string]bool) map[string]fieldName {
	table := make(map[string]fieldName, len(names))
	for name, checked := range names {
		table[name] = fieldName{name, checked}
	}
	return table
}

// field returns the name of a top-level member and refuses look-alikes of those that are checked.
func (d *decoder) field(key []byte) string {
	if known, ok := fieldNames[string(key)]; ok {
		return known.name
	}
	for name, known := range fieldNames {
		if known.checked && alike(key, name) {
			d.lookAlike("", key, name)
		}
	}
	return string(key)
}

// alike reports whether a key is name in other letters: some providers match keys without regard to case, and
// would then obey a field that nobody checked.
func alike(key []byte, name string) bool {
	if len(key) < len(name) || len(key) > 3*len(name) {
		return false
	}
	return strings.EqualFold(string(key), name) && string(key) != name
}

func (d *decoder) lookAlike(where string, key []byte, name string) {
	shown := string(key)
	d.problem(where+show.Cut(shown, maxLabel), "The key %s looks like %q but is written differently. Spell it %q.", show.Quote(shown), name, name)
}

// rejectLookAlikes refuses look-alikes of names in an object below the top.
func (d *decoder) rejectLookAlikes(where string, key []byte, names ...string) {
	for _, name := range names {
		if alike(key, name) {
			d.lookAlike(where, key, name)
		}
	}
}

// wrong records that the value coming next has the wrong type, and skips it.
func (d *decoder) wrong(param, want string) {
	names := map[byte]string{'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "true", 'f': "false", 'n': "null"}
	got, ok := names[d.Kind()]
	d.Skip()
	if ok && d.Err == nil {
		d.problem(param, "%s must be %s; it is %s.", param, want, got)
	}
}

// is reports whether a value of this kind comes next. A null is read and means absent; any other kind is a problem.
func (d *decoder) is(kind byte, param, want string) bool {
	switch d.Kind() {
	case kind:
		return true
	case 'n':
		d.Literal("null")
	default:
		d.wrong(param, want)
	}
	return false
}

// str reads a string; false when there is none.
func (d *decoder) str(param string) (string, bool) {
	if !d.is('"', param, "a string") {
		return "", false
	}
	t := d.ReadString()
	return string(d.Unquote(t)), d.Err == nil
}

// name reads a name that we act on: neither empty, nor long, nor with characters that cannot be seen.
func (d *decoder) name(param string, into *string) bool {
	s, ok := d.str(param)
	switch {
	case !ok:
		return false
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
func (d *decoder) names(param string) []string {
	if !d.is('[', param, "a list of strings") {
		return nil
	}
	var list []string
	for n := range d.Elements {
		var name string
		if d.Kind() != '"' {
			d.wrong(param, "a list of strings")
		} else if d.name(param, &name) && n < maxNames {
			list = append(list, name)
		}
		if n == maxNames {
			d.problem(param, "%s may have at most %d entries.", param, maxNames)
		}
	}
	return list
}

// label reads a string that is only kept for the log, cut to a sane length.
func (d *decoder) label(param string, into *string) {
	if s, ok := d.str(param); ok {
		*into = show.Cut(s, maxName)
	}
}

func (d *decoder) metadata() {
	if !d.is('{', "metadata", "an object") {
		return
	}
	for key := range d.Members {
		if d.Kind() != '"' {
			continue
		}
		value := string(d.Unquote(d.ReadString()))
		if d.req.Metadata == nil {
			d.req.Metadata = make(map[string]string)
		}
		if len(d.req.Metadata) < maxLabels {
			d.req.Metadata[show.Cut(string(key), maxLabel)] = show.Cut(value, maxLabel)
		}
	}
}

// boolean reads true or false; anything else is false.
func (d *decoder) boolean(param string) bool {
	switch d.Kind() {
	case 't':
		d.Literal("true")
		return true
	case 'f':
		d.Literal("false")
	case 'n':
		d.Literal("null")
	default:
		d.wrong(param, "true or false")
	}
	return false
}

// integer reads a whole number from 1 to high; 0 when there is none.
func (d *decoder) integer(param string, high int64) int64 {
	n, _ := d.intBetween(param, 1, high)
	return n
}

// intBetween reads a whole number from low to high; false when there is none.
func (d *decoder) intBetween(param string, low, high int64) (int64, bool) {
	if !d.is('0', param, "a whole number") {
		return 0, false
	}
	raw := d.Number()
	n, ok := ParseInteger(raw)
	if d.Err == nil && (!ok || n < low || n > high) {
		d.problem(param, "%s must be a whole number from %d to %d; it is %s.", param, low, high, strings.Trim(show.Quote(string(raw)), `"`))
		return 0, false
	}
	return n, d.Err == nil
}

// ParseInteger reads 10, and also 10.0 and 1e1, which mean the same to every provider.
func ParseInteger(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxTokens {
		return 0, false
	}
	return int64(f), true
}
