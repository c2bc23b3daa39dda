// Package document parses YAML documents written by users and formats the problems found in them, with positions, quotes and
// excerpts.
package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// SyntaxError reports text that is not valid YAML or contains more than one document.
type SyntaxError struct {
	Line     int // line number, starting at 1; 0 if unknown
	Column   int // column number, starting at 1; 0 if unknown
	Message  string
	Multiple bool // whether the text is valid but contains more than one document
}

// Parse returns the root node of the document in text, or nil if text is empty. It returns a SyntaxError for invalid YAML and for more than
// one document.
func Parse(text []byte) (*yaml.Node, *SyntaxError) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF) || (err == nil && len(document.Content) == 0):
		return nil, nil
	case err != nil:
		return nil, syntaxError(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &SyntaxError{Line: more.Line, Column: more.Column, Message: "more than one document", Multiple: true}
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err)
	}
	return document.Content[0], nil
}

var lineNumber = regexp.MustCompile(`line (\d+): `)

// syntaxError converts an error of the YAML parser. It extracts the line number from the message.
func syntaxError(err error) *SyntaxError {
	e := &SyntaxError{Message: Clean(strings.TrimPrefix(err.Error(), "yaml: "))}
	if m := lineNumber.FindStringSubmatch(e.Message); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = strings.Replace(e.Message, m[0], "", 1)
	}
	return e
}

// Resolve returns the node that an alias refers to, or n itself.
func Resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// IsNull reports whether n is a null value: null, ~ or an empty value.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Key returns the index of the key with the given name in mapping.Content, or -1. The value is at the next index.
func Key(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}
