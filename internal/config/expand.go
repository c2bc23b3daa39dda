package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"fairlead.dev/internal/spelling"
)

// largestSecret is the maximum size of a secret file.
const largestSecret = 64 << 10

var reference = regexp.MustCompile(`\$?\$\{([^}]*)\}?`)

var referenceName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${NAME} and ${NAME:-default} with the values of environment variables. $${ is a literal ${.
func (l *loader) expand(text string) (string, *fault) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var found *fault
	expanded := reference.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		value, f := l.variable(match)
		if f != nil && found == nil {
			found = f
		}
		return value
	})
	return expanded, found
}

func (l *loader) variable(match string) (string, *fault) {
	inside, closed := strings.CutSuffix(strings.TrimPrefix(match, "${"), "}")
	name, otherwise, hasDefault := strings.Cut(inside, ":-")
	if !closed || !referenceName.MatchString(name) {
		return "", &fault{code: BadValue, message: "invalid variable reference", fix: "write ${NAME} or ${NAME:-default}; write $${ for a literal ${"}
	}
	value, ok := l.environ[name]
	switch {
	case ok && value != "":
		return value, nil
	case hasDefault:
		return otherwise, nil
	case ok:
		return "", &fault{code: MissingEnv, message: fmt.Sprintf("the environment variable %s is empty", name), fix: fmt.Sprintf("set %s, or write ${%s:-default}", name, name)}
	}
	return "", &fault{code: MissingEnv, message: fmt.Sprintf("the environment variable %s is not set", name), suggestion: spelling.Closest(name, l.variables), fix: fmt.Sprintf("set %s, or write ${%s:-default}", name, name)}
}

// secret returns the value of a secret field. For a value file:/path it reads the file.
func (l *loader) secret(f field, text string) (string, *fault) {
	path, ok := strings.CutPrefix(text, "file:")
	if !ok || f.secret == "" {
		return text, nil
	}
	if !filepath.IsAbs(path) && l.path != "" {
		path = filepath.Join(filepath.Dir(l.path), path)
	}
	content, err := l.readFile(path, largestSecret)
	if err != nil {
		return "", &fault{code: MissingFile, message: fmt.Sprintf("%s: %s", f.name, DescribeFileError(path, err)), fix: "create the file and make it readable for this process"}
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if secret == "" {
		return "", &fault{code: WeakSecret, message: fmt.Sprintf("%s: the file %s is empty", f.name, path), fix: "write the secret to the file"}
	}
	return secret, nil
}
