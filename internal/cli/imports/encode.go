package imports

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mergeKeys combines providers that differ only in their keys, and gives every provider a unique name.
func mergeKeys(providers []*provider) []*provider {
	var merged []*provider
	known, used := map[string]*provider{}, map[string]int{}
	for _, p := range providers {
		id := fmt.Sprint(p.vendor, " ", p.baseURL, p.options, p.catalog)
		for _, m := range p.models {
			id += fmt.Sprintf(" %s=%s", m.name, m.upstream)
		}
		if other := known[id]; other != nil && len(p.keys) > 0 {
			other.keys = append(other.keys, p.keys...)
			continue
		}
		if known[id] == nil {
			known[id] = p
		}
		p.name = cmp.Or(p.name, p.vendor)
		if used[p.name]++; used[p.name] > 1 {
			p.name += "-" + strconv.Itoa(used[p.name])
		}
		merged = append(merged, p)
	}
	return merged
}

// encode returns the configuration file. It is written by hand because it contains comments.
func encode(providers []*provider) string {
	var b strings.Builder
	line := func(depth int, text string) { b.WriteString(strings.Repeat("  ", depth) + text + "\n") }
	field := func(depth int, name, value string) {
		if value != "" {
			line(depth, name+": "+value)
		}
	}
	line(0, "# Converted from a LiteLLM configuration. Check the report of the import, then run: fairlead config check")
	line(0, "# Variables such as ${OPENAI_API_KEY} are read from the environment of the gateway.")
	if len(providers) > 0 {
		line(0, "providers:")
	}
	for _, p := range providers {
		field(1, "- name", quoted(p.name))
		if p.vendor == "" {
			line(2, "format: chat")
		} else if p.vendor != p.name {
			field(2, "vendor", p.vendor)
		}
		field(2, "base_url", quoted(p.baseURL))
		field(2, "api_keys", list(p.keys))
		if len(p.options) > 0 {
			line(2, "options:")
		}
		for _, name := range slices.Sorted(maps.Keys(p.options)) {
			field(3, name, quoted(p.options[name]))
		}
		if p.catalog {
			line(2, "catalog: true  # all models of the vendor that the catalog knows")
		}
		if len(p.models) > 0 {
			line(2, "models:")
		}
		for _, m := range p.models {
			if m.comment != "" {
				line(3, "# "+m.comment)
			}
			field(3, "- name", quoted(m.name))
			if m.upstream != m.name {
				field(4, "upstream", quoted(m.upstream))
			}
			field(4, "kind", m.settings["kind"])
			field(4, "aliases", list(m.aliases))
			for _, name := range []string{"input_per_mtok", "output_per_mtok", "cache_read_per_mtok", "cache_write_per_mtok", "context", "max_output", "abilities", "quality"} {
				field(4, name, m.settings[name])
			}
			if m.settings["first_token"] != "" || m.settings["total"] != "" {
				line(4, "timeouts:")
			}
			field(5, "first_token", m.settings["first_token"])
			field(5, "total", m.settings["total"])
		}
	}
	line(0, "log:")
	line(1, "bodies: false  # LiteLLM does not store prompts and responses by default")
	return b.String()
}

var plainText = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9._/@+-]*$`)

// quoted returns text as a YAML scalar, and an empty string for none.
func quoted(text string) string {
	if text == "" || plainText.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

// list returns texts as a YAML list, and an empty string for none.
func list(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	var parts []string
	for _, t := range texts {
		parts = append(parts, quoted(t))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// report returns the findings as text, by kind.
func report(findings []finding) string {
	var b strings.Builder
	for _, k := range [][2]string{{taken, "Taken over"}, {changed, "Changed: please check"}, {unsupported, "Not supported"}} {
		title := k[1] + "\n"
		for _, f := range findings {
			if f.Kind == k[0] {
				fmt.Fprintf(&b, "%s  %s: %s\n", title, f.Setting, f.Text)
				title = ""
			}
		}
	}
	return b.String()
}
