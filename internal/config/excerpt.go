package config

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// soundsSecret matches a key that looks like the name of a secret, followed by a value, in text that is not valid YAML.
var soundsSecret = regexp.MustCompile(`(?i)(key|secret|token|password|authorization|credential)[a-z_"'-]*\s*:\s*\S`)

var secretName = regexp.MustCompile(`(?i)key|secret|token|password|credential|authorization`)

// Secrets in URLs: passwords and query parameters.
var (
	urlPassword = regexp.MustCompile(`(://[^/\s:@]*:)([^/\s@]+)@`)
	urlQuery    = regexp.MustCompile(`(://[^\s"'?]*\?)[^\s"'}\]]+`)
)

// hide masks the values of n and its children in excerpts.
func (d *decoder) hide(n *yaml.Node) {
	if d.source.Kind != FromFile {
		return
	}
	if n.Kind == yaml.ScalarNode && !strings.HasPrefix(n.Value, "${") && !strings.HasPrefix(n.Value, "file:") {
		d.hidden = append(d.hidden, n)
	}
	for _, one := range n.Content {
		d.hide(one)
	}
}

// addExcerpts adds the line of each problem, with secrets masked.
func (l *loader) addExcerpts() {
	document.Mask(l.lines, l.hidden)
	for i := range l.problems.List {
		p := &l.problems.List[i]
		if p.Line == 0 || p.Line > len(l.lines) {
			continue
		}
		line := urlPassword.ReplaceAllString(l.lines[p.Line-1], "$1***@")
		line = urlQuery.ReplaceAllString(line, "$1***")
		if p.Code == Malformed && soundsSecret.MatchString(line) {
			continue // no excerpt: in invalid YAML, the end of the secret is unknown
		}
		p.excerpt, p.Column = document.Window(line, p.Column)
	}
}
