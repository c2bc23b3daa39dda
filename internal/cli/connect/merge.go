package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"gopkg.in/yaml.v3"
)

// setting is one value that a file must have.
type setting struct {
	path    []string
	value   any  // nil removes an existing value
	missing bool // whether an existing value is kept
}

// listEntry is a value that is one entry of a list. It replaces the entry with the same value of the member key.
type listEntry struct {
	key    string
	fields map[string]any
}

func set(value any, path ...string) setting { return setting{path: slices.Clone(path), value: value} }

// setDefault sets a value unless the file has one.
func setDefault(value any, path ...string) setting {
	return setting{path: slices.Clone(path), value: value, missing: true}
}

// unset removes a value that would take precedence over the settings of the gateway.
func unset(path ...string) setting { return setting{path: slices.Clone(path)} }

// replaceWith replaces the whole file.
func replaceWith(content []byte) func([]byte) ([]byte, error) {
	return func([]byte) ([]byte, error) { return content, nil }
}

// appendLine adds a line to a file unless the file has it.
func appendLine(line string) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if slices.Contains(strings.Split(string(old), "\n"), line) {
			return old, nil
		}
		return []byte(endLine(string(old)) + line + "\n"), nil
	}
}

// endLine adds a line break to a text whose last line has none.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// mergeEnv sets variables, one per line. It keeps all other lines.
func mergeEnv(settings ...setting) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		lines := strings.Split(endLine(string(old)), "\n")
		lines = lines[:len(lines)-1]
		for _, s := range settings {
			name := s.path[0]
			line := fmt.Sprintf("%s=%s", name, quoteShell(s.value.(string)))
			at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), name+"=") })
			if at < 0 {
				lines = append(lines, line)
			} else {
				lines[at] = line
			}
		}
		return []byte(strings.Join(lines, "\n") + "\n"), nil
	}
}

// mergeJSON sets members of a JSON object. It keeps comments, trailing commas and the format of all other members.
func mergeJSON(settings ...setting) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		if len(bytes.TrimSpace(old)) == 0 {
			old = []byte("{}\n")
		}
		doc, err := hujson.Parse(old)
		if err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		root, ok := doc.Value.(*hujson.Object)
		if !ok {
			return nil, errors.New("read JSON: the file is not an object")
		}
		for _, s := range settings {
			if err := setJSON(root, s, 1); err != nil {
				return nil, err
			}
		}
		return doc.Pack(), nil
	}
}

// indentation of added members.
const indentation = "  "

// setJSON sets a value below an object at the given depth. It creates missing objects.
func setJSON(o *hujson.Object, s setting, depth int) error {
	at := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == s.path[0] })
	if at < 0 && s.value == nil {
		return nil
	}
	if len(s.path) > 1 {
		if at < 0 {
			at = addMember(o, s.path[0], &hujson.Object{}, depth)
		}
		inner, ok := o.Members[at].Value.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("the member %q is not an object", s.path[0])
		}
		s.path = s.path[1:]
		return setJSON(inner, s, depth+1)
	}
	if at >= 0 && s.missing {
		return nil
	}
	if s.value == nil {
		removeMember(o, at)
		return nil
	}
	if entry, ok := s.value.(listEntry); ok {
		list, err := existingList(o, at)
		if err != nil {
			return fmt.Errorf("the member %q: %w", s.path[0], err)
		}
		s.value = entry.replaceIn(list)
	}
	value, err := encodeJSON(s.value, depth)
	if err != nil {
		return err
	}
	if at < 0 {
		addMember(o, s.path[0], value, depth)
	} else {
		o.Members[at].Value.Value = value
	}
	return nil
}

// existingList decodes the list that is the value of a member; nil if there is no member.
func existingList(o *hujson.Object, at int) (list []any, err error) {
	if at < 0 {
		return nil, nil
	}
	value := o.Members[at].Value.Clone()
	value.Standardize()
	if err := json.Unmarshal(value.Pack(), &list); err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	return list, nil
}

func (e listEntry) replaceIn(list []any) []any {
	at := slices.IndexFunc(list, func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m[e.key] == e.fields[e.key]
	})
	if at < 0 {
		return append(list, e.fields)
	}
	list = slices.Clone(list)
	list[at] = e.fields
	return list
}

// encodeJSON encodes a value with the indentation of its depth.
func encodeJSON(v any, depth int) (hujson.ValueTrimmed, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent(strings.Repeat(indentation, depth), indentation)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a setting: %w", err)
	}
	parsed, err := hujson.Parse(text.Bytes())
	if err != nil {
		return nil, fmt.Errorf("encode a setting: %w", err)
	}
	return parsed.Value, nil
}

// addMember appends a member to an object on a line of its own and returns its index.
func addMember(o *hujson.Object, name string, value hujson.ValueTrimmed, depth int) int {
	member := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: hujson.Extra("\n" + strings.Repeat(indentation, depth)), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	closing := hujson.Extra("\n" + strings.Repeat(indentation, depth-1))
	if last := len(o.Members) - 1; last >= 0 {
		v := &o.Members[last].Value
		if v.AfterExtra != nil { // a trailing comma: the space and the comments after it belong to the end of the object
			member.Name.BeforeExtra = append(bytes.TrimRight(o.AfterExtra, " \t\r\n"), member.Name.BeforeExtra...)
			member.Value.AfterExtra = hujson.Extra{}
		} else if comment := bytes.TrimRight(o.AfterExtra, " \t\r\n"); len(comment) > 0 {
			member.Name.BeforeExtra = append(slices.Clone(comment), member.Name.BeforeExtra...)
		}
	}
	o.AfterExtra = closing
	o.Members = append(o.Members, member)
	return len(o.Members) - 1
}

// removeMember removes a member with the comments above it. It keeps a comment on the line of the member before.
func removeMember(o *hujson.Object, at int) {
	removed := o.Members[at]
	line, _, _ := bytes.Cut(removed.Name.BeforeExtra, []byte("\n"))
	after := &o.AfterExtra
	o.Members = slices.Delete(o.Members, at, at+1)
	switch {
	case at < len(o.Members):
		after = &o.Members[at].Name.BeforeExtra
	case at > 0: // the last member carries the trailing comma
		o.Members[at-1].Value.AfterExtra = removed.Value.AfterExtra
	}
	*after = append(bytes.Clone(line), *after...)
}

// mergeYAML sets top-level values of a YAML document. It keeps comments and all other values.
func mergeYAML(settings ...setting) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		var doc yaml.Node
		if err := yaml.Unmarshal(old, &doc); err != nil {
			return nil, fmt.Errorf("read YAML: %w", err)
		}
		if doc.Kind == 0 {
			doc = yaml.Node{Kind: yaml.DocumentNode, HeadComment: strings.TrimRight(string(old), "\n"), Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		}
		root := doc.Content[0]
		if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
			*root = yaml.Node{Kind: yaml.MappingNode, HeadComment: root.HeadComment, FootComment: root.FootComment}
		}
		if root.Kind != yaml.MappingNode {
			return nil, errors.New("read YAML: the file is not a mapping")
		}
		for _, s := range settings {
			if err := setYAML(root, s); err != nil {
				return nil, err
			}
		}
		var out bytes.Buffer
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(len(indentation))
		if err := errors.Join(enc.Encode(&doc), enc.Close()); err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		return out.Bytes(), nil
	}
}

func setYAML(root *yaml.Node, s setting) error {
	name := s.path[0]
	at := -1 // index of the value
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == name {
			at = i + 1
		}
	}
	if at >= 0 && s.missing {
		return nil
	}
	if entry, ok := s.value.(listEntry); ok {
		return setYAMLEntry(root, at, name, entry)
	}
	var value yaml.Node
	if err := value.Encode(s.value); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if at < 0 {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &value)
		return nil
	}
	value.LineComment = root.Content[at].LineComment
	*root.Content[at] = value
	return nil
}

// setYAMLEntry sets one entry of a list and keeps the others with their comments.
func setYAMLEntry(root *yaml.Node, at int, name string, entry listEntry) error {
	var value yaml.Node
	if err := value.Encode(entry.fields); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if at < 0 {
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{&value}})
		return nil
	}
	list := root.Content[at]
	if list.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s is not a list", name)
	}
	list.Style = 0 // an empty list is often written as []
	same := slices.IndexFunc(list.Content, func(n *yaml.Node) bool {
		var fields map[string]any
		return n.Decode(&fields) == nil && fields[entry.key] == entry.fields[entry.key]
	})
	if same < 0 {
		list.Content = append(list.Content, &value)
		return nil
	}
	*list.Content[same] = value
	return nil
}

// mergeTOML sets values of a TOML document. The path of a setting is a key at the top, or a table and a key. All other lines are kept.
func mergeTOML(settings ...setting) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		doc, err := splitTOML(string(old))
		if err != nil {
			return nil, err
		}
		for _, s := range settings {
			table, key := "", s.path[len(s.path)-1]
			if len(s.path) > 1 {
				table = s.path[0]
			}
			if doc.definesInline(table) {
				return nil, fmt.Errorf("read TOML: %s is not a table with a header, which this command can change", table)
			}
			if s.value == nil {
				doc.remove(table, key)
				continue
			}
			value, err := encodeTOML(s.value)
			if err != nil {
				return nil, err
			}
			doc.set(table, key, value)
		}
		return []byte(doc.String()), nil
	}
}

// tomlTable is a part of a TOML document: the lines of one table, or those before the first table.
type tomlTable struct {
	name       string
	header     string // line of the header; empty for the lines before the first table
	statements []tomlStatement
}

// tomlStatement is a key with its value, which may span lines, or a blank line or comment.
type tomlStatement struct{ key, text string }

type tomlDocument struct{ tables []tomlTable }

// splitTOML splits a document into its statements. It interprets only what is needed to find their ends: strings, lists and comments.
func splitTOML(text string) (*tomlDocument, error) {
	doc := &tomlDocument{tables: []tomlTable{{}}}
	for rest := text; rest != ""; {
		end, err := tomlStatementEnd(rest)
		if err != nil {
			return nil, err
		}
		statement := endLine(rest[:end])
		rest = rest[end:]
		line := strings.TrimSpace(statement)
		if strings.HasPrefix(line, "[") {
			name := strings.Trim(strings.TrimSpace(strings.SplitN(line, "#", 2)[0]), "[] \t")
			doc.tables = append(doc.tables, tomlTable{name: normalizeKey(name), header: statement})
			continue
		}
		key := ""
		if line != "" && line[0] != '#' {
			name, _, ok := strings.Cut(line, "=")
			if !ok {
				return nil, fmt.Errorf("read TOML: %q is neither a table nor a setting", line)
			}
			key = normalizeKey(name)
		}
		last := &doc.tables[len(doc.tables)-1]
		last.statements = append(last.statements, tomlStatement{key, statement})
	}
	return doc, nil
}

// normalizeKey removes quotes and blanks around the parts of a dotted key.
func normalizeKey(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(part), `"'`)
	}
	return strings.Join(parts, ".")
}

// tomlStatementEnd returns the length of the first statement with its line break.
func tomlStatementEnd(text string) (int, error) {
	brackets := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n - 1
			} else {
				return len(text), nil
			}
		case '[', '{':
			brackets++
		case ']', '}':
			brackets--
		case '\n':
			if brackets <= 0 {
				return i + 1, nil
			}
		case '"', '\'':
			n, err := tomlStringEnd(text[i:])
			if err != nil {
				return 0, err
			}
			i += n - 1
		}
	}
	return len(text), nil
}

// tomlStringEnd returns the length of the string at the beginning of text.
func tomlStringEnd(text string) (int, error) {
	quote := text[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		quote = triple
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote), nil
		case text[i] == '\n' && len(quote) == 1:
			return 0, errors.New("read TOML: a string has no end")
		}
	}
	return 0, errors.New("read TOML: a string has no end")
}

// definesInline reports whether the document defines a table or values in it with a dotted key or as an inline table.
func (d *tomlDocument) definesInline(table string) bool {
	return table != "" && slices.ContainsFunc(d.tables, func(t tomlTable) bool {
		return slices.ContainsFunc(t.statements, func(s tomlStatement) bool {
			within := strings.HasPrefix(t.name+".", table+".")
			return !within && s.key != "" && strings.HasPrefix(strings.TrimPrefix(t.name+"."+s.key, ".")+".", table+".")
		})
	})
}

func (d *tomlDocument) remove(table, key string) {
	for i := range d.tables {
		if t := &d.tables[i]; t.name == table {
			t.statements = slices.DeleteFunc(t.statements, func(s tomlStatement) bool { return s.key == key })
		}
	}
}

// set sets a key of a table, which is added if it does not exist.
func (d *tomlDocument) set(table, key, value string) {
	line := key + " = " + value + "\n"
	at := slices.IndexFunc(d.tables, func(t tomlTable) bool { return t.name == table })
	if at < 0 {
		header := "[" + table + "]\n"
		last := &d.tables[len(d.tables)-1]
		if n := len(last.statements); last.header != "" || n > 0 {
			if n == 0 || last.statements[n-1].text != "\n" {
				header = "\n" + header
			}
		}
		d.tables = append(d.tables, tomlTable{name: table, header: header})
		at = len(d.tables) - 1
	}
	t := &d.tables[at]
	if i := slices.IndexFunc(t.statements, func(s tomlStatement) bool { return s.key == key }); i >= 0 {
		t.statements[i].text = line
		return
	}
	end := len(t.statements) // before blank lines and comments at the end, which may belong to the next table
	for end > 0 && t.statements[end-1].key == "" {
		end--
	}
	if end == 0 && t.header == "" {
		end = len(t.statements)
	}
	t.statements = slices.Insert(t.statements, end, tomlStatement{key, line})
}

func (d *tomlDocument) String() string {
	var b strings.Builder
	for _, t := range d.tables {
		b.WriteString(t.header)
		for _, s := range t.statements {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// encodeTOML encodes a string or a list of strings. A JSON string without escaped HTML characters is a TOML string.
func encodeTOML(v any) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode a setting: %w", err)
	}
	return strings.TrimSpace(text.String()), nil
}
