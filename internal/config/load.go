package config

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// FileName is the default name of the configuration file.
const FileName = "fairlead.yaml"

// largestFile is the maximum size of the configuration file.
const largestFile = 1 << 20

// Options gives the sources of a configuration. The zero value loads the defaults and the file in the default location.
type Options struct {
	Path    string            // path of the configuration file; empty to use FAIRLEAD_CONFIG or search Dirs
	Env     []string          // environment variables as NAME=value, as returned by os.Environ
	Flags   map[string]string // values given as flags, by field path; they take precedence over all other sources
	Dirs    []string          // directories searched for FileName; nil for the default ones
	Vendors []string          // known vendors; nil disables the check
	// Missing describes the settings that a provider with a known vendor still needs for its address. It returns an empty string if
	// none are missing. Missing may be nil.
	Missing func(p Provider, lookup func(string) string) string
}

// Loaded is a validated configuration with the origin of each value.
type Loaded struct {
	Config   Config
	Path     string            // path of the configuration file; empty if there is none
	Origins  map[string]Origin // origins of the values by path; a path that is not in the map has its default value
	Warnings []string          // probable mistakes that do not prevent loading

	sum [sha256.Size]byte // SHA-256 of the file
}

// Load applies the defaults, the file, the environment and the flags in this order and validates the result. The error is a
// *Problems that lists all problems.
func Load(o Options) (*Loaded, error) {
	l := newLoader(o)
	text := l.take(o)
	l.check(o)
	if len(l.problems.List) > 0 {
		l.addExcerpts()
		l.problems.sort()
		return nil, &l.problems
	}
	return &Loaded{Config: l.config, Path: l.path, Origins: l.origins, Warnings: l.warnings, sum: sha256.Sum256(text)}, nil
}

// Readable returns the configuration with defaults for invalid values. It is used to find a running server when the configuration
// is invalid.
func Readable(o Options) Config {
	l := newLoader(o)
	l.take(o)
	return l.config
}

// take applies the file, the environment and the flags to the defaults. It returns the content of the file.
func (l *loader) take(o Options) []byte {
	text, ok := l.find(o)
	if ok {
		l.file(text)
	}
	l.environment()
	l.flags(o.Flags)
	l.finishPaths()
	return text
}

// Origin returns the origin of the value at a path.
func (l *Loaded) Origin(path string) Origin { return originOf(l.Origins, path) }

// Watch calls onChange whenever the content of the file differs from the loaded content, until ctx is cancelled. It also detects changes that
// were made since the file was loaded.
func (l *Loaded) Watch(ctx context.Context, onChange func()) {
	w := &fileWatcher{path: l.Path, limit: largestFile, last: l.sum}
	w.compare(onChange)
	w.run(ctx, watchInterval, onChange)
}

// loader holds the state of one call to Load.
type loader struct {
	config    Config
	path      string
	lines     []string // lines of the file
	origins   map[string]Origin
	damaged   map[string]bool // paths with a problem
	hidden    []*yaml.Node    // secrets in the file
	environ   map[string]string
	variables []string // names of environment variables, sorted
	warnings  []string
	problems  Problems
	readFile  func(path string, limit int64) ([]byte, error)
}

func newLoader(o Options) *loader {
	l := &loader{
		config:   Default(),
		origins:  map[string]Origin{},
		damaged:  map[string]bool{},
		environ:  map[string]string{},
		readFile: ReadFile,
	}
	for _, pair := range o.Env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			l.environ[name] = value
			l.variables = append(l.variables, name)
		}
	}
	slices.Sort(l.variables)
	return l
}

// find returns the content of the configuration file. An explicitly given file must exist.
func (l *loader) find(o Options) ([]byte, bool) {
	if named := cmp.Or(o.Path, l.environ["FAIRLEAD_CONFIG"]); named != "" {
		return l.read(named)
	}
	dirs := o.Dirs
	if dirs == nil {
		dirs = []string{"."}
		if dir := l.environ["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Join(dir, "fairlead"))
		} else if home := l.environ["HOME"]; filepath.IsAbs(home) {
			dirs = append(dirs, filepath.Join(home, ".config", "fairlead"))
		}
		dirs = append(dirs, "/etc/fairlead")
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, FileName)
		if _, err := os.Stat(path); err == nil || !errors.Is(err, os.ErrNotExist) {
			return l.read(path)
		}
	}
	return nil, false
}

func (l *loader) read(path string) ([]byte, bool) {
	l.path = path
	text, err := l.readFile(path, largestFile)
	if err == nil {
		return text, true
	}
	wrong := fault{code: Unreadable, message: DescribeFileError(path, err), fix: "use an existing file that this process can read"}
	if errors.Is(err, ErrFileTooLarge) {
		wrong = fault{code: TooLarge, message: fmt.Sprintf("the file %s is larger than 1MiB", path), fix: "reduce the size of the file"}
	}
	l.report("", Origin{}, wrong)
	return nil, false
}

func (l *loader) file(text []byte) {
	l.lines = strings.Split(string(text), "\n")
	d := &decoder{loader: l, source: Origin{Kind: FromFile, Source: l.path}, text: string(text)}
	root, wrong, line := parse(text)
	if wrong != nil {
		l.report("", Origin{Kind: FromFile, Source: l.path, Line: line}, *wrong)
		return
	}
	if root != nil {
		d.root = root
		d.value(root, reflect.ValueOf(&l.config).Elem(), field{}, "")
	}
}

// parse parses one YAML document. The root is nil for an empty document.
func parse(text []byte) (root *yaml.Node, wrong *fault, line int) {
	root, syntax := document.Parse(text)
	switch {
	case syntax == nil:
		return root, nil, 0
	case syntax.Multiple:
		return nil, &fault{code: Malformed, message: "the file contains more than one document", fix: "remove the line --- and everything after it"}, syntax.Line
	}
	return nil, &fault{code: Malformed, message: "invalid YAML: " + syntax.Message, fix: "check indentation and quotes on this line and the following lines"}, syntax.Line
}

// finishPaths sets the default data directory and expands ~. The default is the state directory set by a service manager, otherwise
// the user's data directory. Without a home directory, as in most containers, it is the system directory.
func (l *loader) finishPaths() {
	home := l.environ["HOME"]
	if l.config.DataDir == "" {
		first, _, _ := strings.Cut(l.environ["STATE_DIRECTORY"], ":")
		switch dir := l.environ["XDG_DATA_HOME"]; {
		case l.environ["STATE_DIRECTORY"] != "":
			l.config.DataDir = first
		case filepath.IsAbs(dir):
			l.config.DataDir = filepath.Join(dir, "fairlead")
		case filepath.IsAbs(home) && home != "/":
			l.config.DataDir = filepath.Join(home, ".local", "share", "fairlead")
		default:
			l.config.DataDir = "/var/lib/fairlead"
		}
	}
	for _, path := range []*string{&l.config.DataDir, &l.config.TLS.Cert, &l.config.TLS.Key} {
		if rest, ok := strings.CutPrefix(*path, "~/"); ok && home != "" {
			*path = filepath.Join(home, rest)
		}
	}
}

// report adds a problem. Problems beyond the maximum number are only counted.
func (l *loader) report(path string, o Origin, wrong fault) {
	if l.full() {
		l.problems.Omitted++
		return
	}
	if o.Kind == FromFile {
		l.problems.file = l.path
	}
	l.problems.List = append(l.problems.List, Problem{
		Path: path, Source: o.Source, Line: o.Line, Column: o.Column, Width: o.width,
		Message: wrong.message, Suggestion: wrong.suggestion, Fix: wrong.fix, Code: wrong.code,
	})
}

func (l *loader) full() bool { return len(l.problems.List) >= mostProblems }
