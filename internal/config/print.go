package config

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// Print writes all values as YAML with masked secrets. With withOrigin it also writes their origins.
func (l *Loaded) Print(w io.Writer, withOrigin bool) error {
	p := &printer{origins: l.Origins}
	p.section(reflect.ValueOf(l.Config), "", 0)
	out := bufio.NewWriter(w)
	width := 0 // width to which lines are padded before their origin; lines of more than 60 characters do not affect it
	for _, line := range p.lines {
		if n := len([]rune(line.text)); n <= 60 {
			width = max(width, n)
		}
	}
	for _, line := range p.lines {
		text := line.text
		if withOrigin && line.origin != "" {
			text = fmt.Sprintf("%-*s  # %s", width, text, document.Clean(line.origin))
		}
		if _, err := out.WriteString(text + "\n"); err != nil {
			return fmt.Errorf("print configuration: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	return nil
}

type printer struct {
	origins map[string]Origin
	lines   []printed
}

type printed struct{ text, origin string }

func (p *printer) add(depth int, text, origin string) {
	p.lines = append(p.lines, printed{strings.Repeat("  ", depth) + text, origin})
}

func (p *printer) section(v reflect.Value, path string, depth int) {
	for _, f := range tables[v.Type()] {
		p.field(v.Field(f.index), f, join(path, f.name), depth)
	}
}

func (p *printer) field(v reflect.Value, f field, path string, depth int) {
	inList := strings.Contains(path, "[")
	if inList && v.IsZero() {
		return // omit unset fields in lists
	}
	origin := originOf(p.origins, path).String()
	switch {
	case f.typ == policiesType && v.Len() > 0:
		p.policies(v.String(), f.name, path, depth)
	case v.Kind() == reflect.Slice && v.Len() == 0, f.typ == policiesType:
		p.add(depth, f.name+": []", origin)
	case v.Kind() == reflect.Map && v.Len() == 0:
		p.add(depth, f.name+": {}", origin)
	case v.Kind() == reflect.Struct:
		p.add(depth, f.name+":", "")
		p.section(v, path, depth+1)
	case isStructs(f.typ):
		p.add(depth, f.name+":", "")
		for i := range v.Len() {
			first := len(p.lines)
			p.section(v.Index(i), at(path, i), depth+2)
			if len(p.lines) == first {
				p.add(depth+1, "- {}", "")
				continue
			}
			p.lines[first].text = strings.Repeat("  ", depth+1) + "- " + strings.TrimLeft(p.lines[first].text, " ")
		}
	case v.Kind() == reflect.Slice:
		list := make([]string, 0, v.Len())
		for i := range v.Len() {
			list = append(list, show(v.Index(i), f))
		}
		p.add(depth, f.name+": ["+strings.Join(list, ", ")+"]", origin)
	case v.Kind() == reflect.Map:
		p.add(depth, f.name+":", "")
		m := v.Interface().(map[string]string)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			p.add(depth+1, yamlText(name)+": "+show(reflect.ValueOf(m[name]), f), originOf(p.origins, join(path, name)).String())
		}
	default:
		p.add(depth, f.name+": "+show(v, f), origin)
	}
}

// show formats a value as in the file, with masked secrets.
func show(v reflect.Value, f field) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case v.Type() == durationType:
		return FormatDuration(time.Duration(v.Int()))
	case v.Type() == sizeType:
		return Size(v.Int()).String()
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case f.secret == "true" && v.Len() == 0:
		return "null" // an empty secret would be rejected
	case f.secret == "true":
		return yamlText(Mask(v.String()))
	case f.secret == "url":
		return yamlText(MaskURL(v.String()))
	}
	return yamlText(v.String())
}

func yamlText(text string) string {
	if text == "" {
		return `""`
	}
	out, err := yaml.Marshal(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text})
	line := strings.TrimSuffix(string(out), "\n")
	if err != nil || strings.ContainsAny(line, "\n,[]{}") {
		return strconv.Quote(text)
	}
	return line
}

// Mask hides all but the last four characters of a secret. It returns [secret] if the secret is short.
func Mask(secret string) string {
	const longEnough, shown = 16, 4
	runes := []rune(secret)
	switch {
	case len(runes) == 0:
		return ""
	case len(runes) < longEnough:
		return "[secret]"
	}
	return "…" + string(runes[len(runes)-shown:])
}

// MaskURL masks passwords in the user info and the query of a URL.
func MaskURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "[secret]"
	}
	if _, ok := u.User.Password(); ok {
		address = strings.Replace(address, u.User.String()+"@", url.User(u.User.Username()).String()+":[secret]@", 1)
		if masked, err := url.Parse(address); err == nil {
			if password, _ := masked.User.Password(); password != "[secret]" {
				return u.Scheme + "://[secret]@" + u.Host + u.EscapedPath() // unusual escaping prevented the replacement of the password
			}
		}
	}
	base, query, ok := strings.Cut(address, "?")
	if !ok {
		return address
	}
	params := strings.Split(query, "&")
	for i, param := range params {
		if name, _, _ := strings.Cut(param, "="); strings.Contains(strings.ToLower(name), "pass") {
			params[i] = name + "=[secret]"
		}
	}
	return base + "?" + strings.Join(params, "&")
}
