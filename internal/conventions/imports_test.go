// Package conventions tests rules for the whole repository: imports, sizes, documents and language. It has only tests.
package conventions

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers is the import table. A package may import packages on lines below its own. It may import a package on its own line only if
// beside lists that package. A new package adds its name here unless a pattern with /* matches it.
var layers = [][]string{
	{
		"cmd/fairlead",
		"train/features",
	},
	{
		"internal/cli/*",
	},
	{
		"internal/cli/filter",
		"internal/cli/instance",
	},
	{
		"internal/cli",
	},
	{
		"internal/app",
		"docs",
		"web",
	},
	{
		"internal/providerset",
		"internal/redaction",
		"internal/samples",
		"internal/shadow", "internal/cascade",
		"internal/maintenance",
		"internal/otlp",
		"internal/signals",
	},
	{
		"internal/explain",
		"internal/memory",
		"internal/migration",
		"internal/pricebook",
		"internal/settings",
		"internal/transcript",
	},
	{
		"internal/gateway",
		"internal/admin",
	},
	{
		"internal/admin/overview",
	},
	{
		"internal/admin/accounts",
		"internal/admin/alerts",
		"internal/admin/budgets",
		"internal/admin/comparison",
		"internal/admin/keys",
		"internal/admin/outcomes",
		"internal/admin/playground",
		"internal/admin/policies",
		"internal/admin/proofs",
		"internal/admin/providers",
		"internal/admin/reports",
		"internal/admin/views",
		"internal/admin/workspaces",
	},
	{
		"internal/admin/requests",
		"internal/admin/spending",
	},
	{
		"internal/admin/adminapi",
	},
	{
		"internal/store",
		"internal/spool",
	},
	{
		"internal/store/logstore",
	},
	{
		"internal/store/messagestore",
		"internal/store/textstore",
	},
	{
		"internal/store/accountstore",
		"internal/store/alertstore",
		"internal/store/batchstore",
		"internal/store/configstore",
		"internal/store/feedbackstore",
		"internal/store/figurestore",
		"internal/store/logquery",
		"internal/store/partition",
		"internal/store/proofstore",
		"internal/store/reportstore",
		"internal/store/sessionstore",
		"internal/store/viewstore",
	},
	{
		"internal/store/entryblock",
		"internal/store/sqldb",
	},
	{
		"internal/store/migrations",
	},
	{
		"internal/objects",
	},
	{
		"internal/modellist",
		"internal/recording",
		"internal/storedresponse",
	},
	{
		"internal/alert",
		"internal/baseline",
		"internal/modelapi",
		"internal/replay",
		"internal/report",
		"internal/rescue",
		"internal/statement",
	},
	{
		"internal/attempt",
		"internal/budget",
		"internal/realtime/meter",
	},
	{
		"internal/account/factor",
		"internal/account/passkey",
		"internal/account/keyring",
		"internal/batch",
		"internal/bill",
		"internal/length",
		"internal/realtime",
		"internal/response",
		"internal/session",
		"internal/sso",
		"internal/upload",
	},
	{
		"internal/catalogfile",
	},
	{
		"internal/account",
		"internal/ledger",
		"internal/requestlog",
		"internal/savedview",
		"internal/health",
		"internal/limit",
		"internal/vault",
		"internal/egress",
		"internal/ingress",
		"internal/manual",
		"internal/config",
		"internal/telemetry",
		"internal/simulator",
		"internal/promptcache",
		"internal/reasoning",
		"internal/responsecache",
		"internal/feedback",
		"internal/policystore",
	},
	{
		"internal/simulator/*",
		"internal/config/*",
	},
	{
		"internal/provider/*",
	},
	{
		"internal/route",
		"internal/learn",
		"internal/policy",
		"internal/wire",
		"internal/wire/*",
		"internal/provider",
	},
	{
		"internal/quality",
		"internal/policy/condition",
		"internal/proof",
		"internal/catalog/bundle",
		"internal/catalog/importer",
		"internal/predict/ability",
		"internal/predict/protocol",
	},
	{
		"internal/account/secret",
		"internal/catalog",
		"internal/token",
		"internal/redact",
		"internal/fulltext",
		"internal/predict",
		"internal/conversation",
		"internal/outline",
		"internal/judge",
		"internal/cluster",
	},
	{
		"internal/llm",
		"internal/money",
		"internal/id",
		"internal/spelling",
		"internal/rawjson",
		"internal/document",
		"internal/turncache",
		"internal/tracecontext",
	},
}

// beside lists, for each package, the packages on its own line of the table that it may import.
var beside = map[string][]string{
	"internal/cli/doctor":   {"internal/cli/keys", "internal/cli/providers", "internal/cli/server"},
	"internal/cli/requests": {"internal/cli/decisions"},
	"internal/app":          {"docs", "web"},
	"internal/telemetry":    {"internal/requestlog"},
	"internal/route":        {"internal/provider", "internal/policy"}, // routing evaluates the policies
	"internal/wire/*":       {"internal/wire", "internal/wire/sse", "internal/wire/fault", "internal/wire/show", "internal/wire/strict", "internal/wire/upstream", "internal/wire/validate", "internal/wire/websearch"},
	"internal/catalog":      {},
	"internal/token":        {"internal/catalog"}, // the catalog names the vocabulary of each model

	// The packages of one format: client side, conversion and provider responses.
	"internal/wire/chat":       {"internal/wire/chatconv", "internal/wire/chatstream", "internal/wire/embeddings"},
	"internal/wire/chatconv":   {"internal/wire/chatstream"},
	"internal/wire/embeddings": {"internal/wire/chatstream"},

	"internal/wire/messages":     {"internal/wire/messagesconv", "internal/wire/messagesstream"},
	"internal/wire/messagesconv": {"internal/wire/messagesstream"},

	// The Responses format and the messages format frame events in the same way.
	"internal/wire/responsesconv":   {"internal/wire/responsesstream", "internal/wire/messagesstream"},
	"internal/wire/responsesstream": {"internal/wire/messagesstream"},
	"internal/wire/geminiapi":       {"internal/wire/chat", "internal/wire/gemini", "internal/wire/messagesstream"},
}

// only lists, for some packages, all packages of this module that they may import.
var only = map[string][]string{
	"internal/provider/*":      {"internal/provider", "internal/wire", "internal/wire/*", "internal/catalog", "internal/llm", "internal/money", "internal/rawjson"},
	"internal/provider/azure":  {"internal/provider/compatible"},                            // azure uses the same format
	"internal/provider/vertex": {"internal/provider/anthropic", "internal/provider/gemini"}, // vertex serves the models of Anthropic and Google
	"docs":                     {},
	"web":                      {},
	"internal/llm":             {},
	"internal/rawjson":         {},
	"internal/money":           {},
	"internal/id":              {},
	"internal/spelling":        {},
	"internal/document":        {},
	"internal/turncache":       {},
	"internal/tracecontext":    {},
}

// never lists, for some packages, the packages on lower lines of the table that they must not import.
var never = map[string][]string{
	"internal/gateway":        serving,
	"internal/modelapi":       serving,
	"internal/modellist":      serving,
	"internal/objects":        serving,
	"internal/realtime":       serving,
	"internal/realtime/meter": serving,
	"internal/recording":      serving,
	"internal/storedresponse": serving,

	"internal/admin/*": {"internal/store", "internal/store/*", "internal/provider/*", "internal/wire/*"},
	"internal/admin":   {"internal/store", "internal/store/*", "internal/provider/*", "internal/wire/*"},
}

// serving lists packages that the model API must not import. Packages that all formats share, such as strict, are not listed, because
// they do not depend on a vendor.
var serving = []string{
	"internal/admin/*", "internal/store", "internal/store/*", "internal/provider/*",
	"internal/wire/chat", "internal/wire/chatconv", "internal/wire/chatstream", "internal/wire/embeddings",
	"internal/wire/messages", "internal/wire/messagesconv", "internal/wire/messagesstream",
	"internal/wire/responses", "internal/wire/responsesconv", "internal/wire/responsesstream", "internal/wire/gemini", "internal/wire/geminiapi", "internal/wire/converse", "internal/wire/media",
}

// pure lists packages that receive the time and random numbers as arguments. They use no network, disk, clock or randomness.
var pure = []string{
	"internal/route",
	"internal/policy",
	"internal/policy/condition",
	"internal/catalog",
	"internal/catalog/importer",
	"internal/token",
	"internal/redact",
	"internal/fulltext",
	"internal/predict",
	"internal/conversation",
	"internal/outline",
	"internal/judge",
	"internal/predict/ability",
	"internal/wire",
	"internal/wire/*",
	"internal/llm",
	"internal/money",
	"internal/document",
}

var impure = []string{"os", "os/exec", "net", "net/http", "math/rand", "math/rand/v2", "crypto/rand", "database/sql"}

// testOnly are packages that exist for tests: only tests and each other may import them.
var testOnly = []string{
	"internal/mockprovider",
	"internal/simulator/simtest",
	"internal/store/storetest",
	"internal/store/storetest/accounttest",
	"internal/store/pgtest",
	"internal/provider/providertest",
	"internal/wire/messagestest",
	"internal/limit/limittest",
	"internal/promptcache/cachetest",
	"internal/outline/outlinetest",
	"internal/cluster/redistest",
	"internal/cli/clitest",
}

// mayReadEnvironment lists the packages that read the environment. All others get values as arguments.
var mayReadEnvironment = []string{
	"cmd/fairlead",
	"internal/config",
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for name, pkg := range packages(t) {
		if slices.Contains(testOnly, name) {
			continue
		}
		line := lineOf(name)
		if line < 0 {
			t.Errorf("%s has no line in the table of layers: add it", name)
			continue
		}
		for imported := range pkg.imports {
			if why := importError(name, line, imported); why != "" {
				t.Errorf("%s imports %s: %s", name, imported, why)
			}
		}
	}
}

func importError(name string, line int, imported string) string {
	target := lineOf(imported)
	switch {
	case slices.Contains(testOnly, imported):
		return "it is only for tests"
	case target < 0:
		return "it has no line in the table of layers"
	case matchesAny(lookUp(never, name), imported):
		return "the table forbids it"
	case hasRule(only, name):
		if !matchesAny(lookUp(only, name), imported) {
			return "the table lists all permitted imports, without this one"
		}
	case target < line:
		return "it is above"
	case target == line && !matchesAny(lookUp(beside, name), imported):
		return "it is on the same line"
	}
	return ""
}

// TestImportTableRejects tests the table with hypothetical imports.
func TestImportTableRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, imported string
		allowed        bool
	}{
		{"cmd/fairlead", "internal/app", true},
		{"internal/app", "internal/provider/compatible", true},
		{"internal/gateway", "internal/wire", true},
		{"internal/gateway", "internal/wire/strict", true},
		{"internal/telemetry", "internal/requestlog", true},
		{"internal/wire/chat", "internal/wire/sse", true},
		{"internal/provider/compatible", "internal/wire/chat", true},
		{"internal/gateway", "internal/admin", false},
		{"internal/gateway", "internal/store", false},
		{"internal/gateway", "internal/wire/chat", false},
		{"internal/admin", "internal/provider/compatible", false},
		{"internal/store", "internal/gateway", false},
		{"internal/store", "internal/store/storetest", false},
		{"internal/account", "internal/ledger", false},
		{"internal/requestlog", "internal/telemetry", false},
		{"internal/provider/compatible", "internal/route", false},
		{"internal/wire/chat", "internal/wire/messages", false},
		{"internal/catalog", "internal/route", false},
		{"internal/llm", "internal/money", false},
		{"internal/account", "internal/nobody", false},
		{"web", "internal/llm", false},
	} {
		why := importError(c.name, lineOf(c.name), c.imported)
		if (why == "") != c.allowed {
			t.Errorf("%s importing %s: allowed %t, but the table says %q", c.name, c.imported, c.allowed, why)
		}
	}
}

func TestPurePackagesDoNoIO(t *testing.T) {
	t.Parallel()
	for name, pkg := range packages(t) {
		if !matchesAny(pure, name) {
			continue
		}
		for imported := range pkg.others {
			// net/http is allowed, because the wire formats and the catalog use its header names. They open no connections.
			if slices.Contains(impure, imported) && imported != "net/http" {
				t.Errorf("%s imports %s: a pure package gets time, draws and bytes as arguments", name, imported)
			}
		}
		for call := range pkg.calls {
			if slices.Contains([]string{"time.Now", "time.Since", "time.Until", "time.After", "time.Sleep", "http.Get", "http.NewRequest"}, call) {
				t.Errorf("%s calls %s: a pure package gets time, draws and bytes as arguments", name, call)
			}
		}
	}
}

func TestOnlyConfigAndCmdReadTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, pkg := range packages(t) {
		if slices.Contains(mayReadEnvironment, name) || slices.Contains(testOnly, name) {
			continue
		}
		for _, call := range []string{"os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv"} {
			if pkg.calls[call] {
				t.Errorf("%s calls %s: pass the value in", name, call)
			}
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	t.Parallel()
	for name, pkg := range packages(t) {
		if pkg.doc == "" {
			t.Errorf("%s has no package comment", name)
			continue
		}
		want := "Package " + path.Base(name) + " "
		if strings.HasPrefix(name, "cmd/") {
			want = "Command "
		}
		if !strings.HasPrefix(pkg.doc, want) && !strings.HasPrefix(pkg.doc, strings.ToUpper(path.Base(name)[:1])) {
			t.Errorf("the comment of %s does not begin with %q", name, want)
		}
	}
}

// goPackage describes the non-test files of a package.
type goPackage struct {
	doc     string
	imports map[string]bool // imported packages of this module, as paths in the repository
	others  map[string]bool
	calls   map[string]bool // names of the called functions, such as os.Getenv
	size    size
}

// packages parses all files. It does not run the go command, because the test cache does not track the files that the command reads.
func packages(t *testing.T) map[string]*goPackage {
	t.Helper()
	found := map[string]*goPackage{}
	root := repository(t)
	for _, top := range []string{"cmd", "docs", "internal", "web"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") {
				return filepath.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			dir, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			name := filepath.ToSlash(dir)
			if found[name] == nil {
				found[name] = &goPackage{imports: map[string]bool{}, others: map[string]bool{}, calls: map[string]bool{}, size: size{methods: map[string]int{}, interfaces: map[string]int{}, fields: map[string]int{}}}
			}
			return found[name].read(file)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found) == 0 {
		t.Fatal("no packages found")
	}
	return found
}

func (p *goPackage) read(file string) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if !ast.IsGenerated(tree) {
		p.size.add(source, tree)
	}
	if tree.Doc != nil {
		p.doc = tree.Doc.Text()
	}
	for _, spec := range tree.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if ours, ok := strings.CutPrefix(imported, "fairlead.dev/"); ok {
			p.imports[ours] = true
		} else {
			p.others[imported] = true
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok {
				p.calls[of.Name+"."+selector.Sel.Name] = true
			}
		}
		return true
	})
	return nil
}

// repository returns the directory of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above this test")
		}
		dir = filepath.Dir(dir)
	}
}

// lineOf returns the line of a package in the table, or -1 if it is missing. An exact name takes precedence over a pattern.
func lineOf(name string) int {
	byPattern := -1
	for i, line := range layers {
		if slices.Contains(line, name) {
			return i
		}
		if matchesAny(line, name) {
			byPattern = i
		}
	}
	return byPattern
}

// matchesAny reports whether a name is in the list, where dir/* matches everything within dir.
func matchesAny(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}

func hasRule(rules map[string][]string, name string) bool {
	return matchesAny(slices.Collect(maps.Keys(rules)), name)
}

// lookUp returns the combined lists of all rules that match the name.
func lookUp(rules map[string][]string, name string) []string {
	var list []string
	for pattern, names := range rules {
		if matchesAny([]string{pattern}, name) {
			list = append(list, names...)
		}
	}
	return list
}
