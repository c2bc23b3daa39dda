package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const (
	maxMessage  = 500
	maxDetails  = 3
	maxNesting  = 6
	maxRawFault = 4 << 10
)

// fault holds the message and the codes extracted from a provider's error, whatever its form.
type fault struct {
	message string
	code    string // error code: error.code, or Google's error.status
	kind    string // error type: error.type
	inner   string // more precise code: Azure's innererror.code, or the reason in Google's ErrorInfo
	status  int    // HTTP status given as a code, from 400 to 599; 0 for none
	delay   string // time to wait before a retry, from Google's RetryInfo
	passes  bool   // whether the provider asks the client to wait and retry
}

// readFault extracts the message and the codes from the forms that providers use: an error object, a string, a plain
// message, a list of details, any of these nested, plain text, or an HTML page.
func readFault(body []byte) fault {
	var f fault
	body = bytes.TrimSpace(body)
	if strict.CheckResponse(body, 0) != nil {
		return f
	}
	var v any
	if err := json.Unmarshal(body, &v); err == nil {
		f.read(v, 0)
	} else if len(body) > 0 && !strings.ContainsRune("<{[", rune(body[0])) {
		f.message = string(body[:min(len(body), maxRawFault)])
	}
	f.message = strings.TrimSpace(show.OneLine(strings.ToValidUTF8(f.message, "\uFFFD")))
	return f
}

func (f *fault) read(v any, depth int) {
	if depth > maxNesting {
		return
	}
	switch v := v.(type) {
	case string:
		f.say(v)
	case []any:
		f.list(v, depth)
	case map[string]any:
		f.codes(v)
		for _, key := range []string{"error", "message", "detail", "error_message", "msg", "errors", "error_description", "title"} {
			if f.message == "" && v[key] != nil {
				f.read(v[key], depth+1)
			}
		}
		if meta, ok := v["metadata"].(map[string]any); ok { // OpenRouter stores the original error here
			if raw, ok := meta["raw"].(string); ok && raw != "" {
				f.message += ": " + raw
			}
		}
	}
}

func (f *fault) say(s string) {
	if f.message == "" {
		f.message = s[:min(len(s), maxRawFault)]
	}
}

// list joins the messages of the first maxDetails entries. The message of a validation error is prefixed with the path of the field.
func (f *fault) list(list []any, depth int) {
	var messages []string
	for _, entry := range list {
		one := fault{}
		one.read(entry, depth+1)
		if m, ok := entry.(map[string]any); ok {
			if place, ok := m["loc"].([]any); ok && one.message != "" {
				path := make([]string, len(place))
				for i, step := range place {
					path[i] = fmt.Sprint(step)
				}
				one.message = strings.Join(path, ".") + ": " + one.message
			}
		}
		if one.message != "" && len(messages) < maxDetails {
			messages = append(messages, one.message)
		}
		f.adopt(one)
	}
	f.say(strings.Join(messages, "; "))
}

// adopt copies fields from o that are not set in f.
func (f *fault) adopt(o fault) {
	for _, pair := range []struct{ into, from *string }{{&f.code, &o.code}, {&f.kind, &o.kind}, {&f.inner, &o.inner}, {&f.delay, &o.delay}} {
		if *pair.into == "" {
			*pair.into = *pair.from
		}
	}
	if f.status == 0 {
		f.status = o.status
	}
}

// codes extracts the codes of an error object. Nested objects are read later. Their codes are more precise and take precedence.
func (f *fault) codes(m map[string]any) {
	for _, key := range []string{"status", "code"} {
		switch code := m[key].(type) {
		case string:
			f.code = code
			if n, err := strconv.Atoi(code); err == nil && n >= 400 && n < 600 {
				f.status = n
			}
		case float64:
			if code >= 400 && code < 600 {
				f.status = int(code)
			}
		}
	}
	if kind, ok := m["type"].(string); ok {
		f.kind = kind
	}
	if inner, ok := m["innererror"].(map[string]any); ok {
		f.inner, _ = inner["code"].(string)
	}
	details, _ := m["details"].([]any)
	for _, d := range details {
		info, _ := d.(map[string]any)
		switch kind := fmt.Sprint(info["@type"]); {
		case strings.HasSuffix(kind, "RetryInfo"):
			f.delay, _ = info["retryDelay"].(string)
		case strings.HasSuffix(kind, "ErrorInfo"):
			f.inner, _ = info["reason"].(string)
		}
	}
}

const removed = "[removed]"

// Patterns of credentials (with a known prefix, after a keyword, masked, and long alphanumeric runs) and of the
// operator's account IDs (with a known prefix or after a keyword).
var (
	announced = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=*-]{6,}`)
	assigned  = regexp.MustCompile(`(?i)\b(api[_-]?key|x-api-key|access[_-]?token|secret|password|token|authorization)(["']?\s*[:=]\s*["']?)[^\s"',;}]{6,}`)
	prefixed  = regexp.MustCompile(`\b(sk|pk|rk|gsk|csk|xai|pplx|nvapi|hf|r8|fw|tgp|key|fl|AIza|AKIA|ASIA|ya29|eyJ)[-_.A-Za-z0-9][A-Za-z0-9._*~+/=-]{5,}[A-Za-z0-9*]`)
	starred   = regexp.MustCompile(`[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9*_-]*`)
	run       = regexp.MustCompile(`[A-Za-z0-9_+/=~.-]{20,}`)
	solid     = regexp.MustCompile(`[A-Za-z0-9]{20,}`)

	accountID    = regexp.MustCompile(`\b(org|proj|acct|ak|user|wrkspc)[-_][A-Za-z0-9][A-Za-z0-9_-]{4,}`)
	accountNamed = regexp.MustCompile("(?i)\\b((?:organi[sz]ation|org|account|project|tenant|team|workspace|subscription)s?(?:[ _-]?(?:id|number))?)([\"'`]?[ :=#/]+[\"'`<(]?)([a-z0-9][a-z0-9_-]{5,})")
)

// redact removes credentials and the operator's account IDs, because providers quote both in error messages.
func redact(s string) string {
	s = redactAccounts(s)
	s = announced.ReplaceAllString(s, "$1 "+removed)
	s = assigned.ReplaceAllString(s, "$1$2"+removed)
	s = prefixed.ReplaceAllStringFunc(s, func(match string) string {
		if strings.ContainsFunc(match, unicode.IsDigit) || strings.Contains(match, "*") || strings.HasPrefix(match, "sk-") {
			return removed
		}
		return match
	})
	s = starred.ReplaceAllString(s, removed)
	return run.ReplaceAllStringFunc(s, func(match string) string {
		for _, piece := range solid.FindAllString(match, -1) {
			if strings.ContainsFunc(piece, unicode.IsDigit) && strings.ContainsFunc(piece, unicode.IsLetter) {
				return removed
			}
		}
		return match
	})
}

// redactAccounts removes the IDs of organisations, projects and accounts. An ID has digits or mixed case, unlike words and codes such as
// org_rate_limit. After a slash, only numbers are removed, because other path segments may be model names.
func redactAccounts(s string) string {
	s = accountID.ReplaceAllStringFunc(s, func(match string) string {
		upper, lower := strings.ContainsFunc(match, unicode.IsUpper), strings.ContainsFunc(match, unicode.IsLower)
		if strings.ContainsFunc(match, unicode.IsDigit) || upper && lower {
			return removed
		}
		return match
	})
	return accountNamed.ReplaceAllStringFunc(s, func(match string) string {
		parts := accountNamed.FindStringSubmatch(match)
		word, between, value := parts[1], parts[2], parts[3]
		number := strings.Trim(value, "0123456789") == ""
		if !strings.ContainsFunc(value, unicode.IsDigit) || strings.Contains(between, "/") && !number {
			return match
		}
		return word + between + removed
	})
}
