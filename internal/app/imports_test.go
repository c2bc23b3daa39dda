package app

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers is the import table. A package may import packages in its own group and in the groups below. A package belongs to the first
// group with a matching name; a group is a list of names, where dir/* matches everything in dir.
var layers = []string{
	// Programs.
	"cmd/fairlead train/* scripts/*",
	"internal/cli internal/cli/*",
	"internal/app docs web",

	// The two APIs, and parts that only app and the command line use.
	"internal/providerset internal/redaction internal/shadow internal/otlp internal/explain " +
		"internal/pricebook internal/settings internal/transcript",
	"internal/gateway internal/admin internal/admin/*",

	// Parts that implement interfaces of the packages below.
	"internal/store internal/store/* internal/spool",

	// The nouns of a request, from its endpoints down to accounts and limits.
	"internal/export",
	"internal/alert internal/replay internal/report",
	"internal/gateway/upstream internal/budget",
	"internal/account/factor internal/account/keyring internal/account/passkey internal/batch internal/bill " +
		"internal/realtime internal/response internal/session internal/sso internal/upload",
	"internal/account internal/config internal/config/* internal/egress internal/feedback internal/health " +
		"internal/ingress internal/ledger internal/limit internal/manual internal/policystore internal/promptcache internal/reasoning " +
		"internal/requestlog internal/responsecache internal/simulator internal/telemetry internal/vault",

	// Vendors, formats and the routing decision.
	"internal/provider/*",
	"internal/route internal/policy internal/provider internal/wire internal/wire/*",
	"internal/policy/condition internal/proof internal/catalog/*",
	"internal/route/predict",
	"internal/account/secret internal/catalog internal/token internal/redact internal/judge " +
		"internal/cluster internal/outline",

	// Shared values. They import nothing of this module.
	"internal/llm internal/money internal/id internal/spelling internal/rawjson internal/document",
}

// forbidden lists imports that are wrong although the table of layers permits them. Within a rule, except names the packages that it
// does not concern.
var forbidden = []struct{ from, imports, except, reason string }{
	{
		from:    "internal/gateway internal/realtime internal/realtime/*",
		imports: "internal/admin internal/admin/* internal/store internal/store/* internal/provider/* internal/wire/*",
		except:  sharedWire,
		reason:  "the model API knows no vendor, no format and no database; app connects them",
	},
	{
		from:    "internal/admin internal/admin/*",
		imports: "internal/store internal/store/* internal/provider/* internal/wire/* internal/gateway",
		except:  "internal/wire/show",
		reason:  "the admin API declares the interfaces that it needs",
	},
	{
		from:    "internal/provider internal/provider/*",
		imports: "internal/route internal/policy internal/egress internal/requestlog",
		reason:  "an adapter builds requests and parses responses; it does not route or send them",
	},
	{
		from:    "internal/provider/anthropic internal/provider/bedrock internal/provider/compatible internal/provider/gemini",
		imports: "internal/provider/*",
		reason:  "vendors do not depend on each other; azure and vertex serve the models of other vendors",
	},
	{
		from:    "internal/wire/openai internal/wire/media",
		imports: "internal/wire/anthropic internal/wire/responses internal/wire/gemini* internal/wire/bedrock",
		reason:  "formats meet in package llm",
	},
	{
		from:    "internal/wire/anthropic internal/wire/bedrock",
		imports: "internal/wire/openai internal/wire/responses internal/wire/gemini*",
		reason:  "formats meet in package llm",
	},
	{
		from:    "internal/wire/responses",
		imports: "internal/wire/openai",
		reason:  "formats meet in package llm",
	},
	{
		from:    "docs web internal/llm internal/money internal/id internal/spelling internal/rawjson internal/document",
		imports: "cmd/* internal/* internal/*/*",
		reason:  "it imports nothing of this module",
	},
}

// sharedWire lists the packages below wire that belong to no format.
const sharedWire = "internal/wire/sse internal/wire/fault internal/wire/show internal/wire/strict internal/wire/upstream internal/wire/websearch"

// pure lists packages that receive the time and random numbers as arguments. They use no network, disk, clock or randomness, so that
// explaining, verifying and backtesting a decision run the same code as serving a request.
const pure = "internal/route internal/policy internal/policy/condition internal/catalog internal/catalog/importer internal/token " +
	"internal/redact internal/route/predict internal/outline internal/judge " +
	"internal/wire internal/wire/* internal/llm internal/money internal/document"

const (
	// net/http is not listed, because formats and the catalog use its names of headers and statuses.
	impureImports = "os os/exec net math/rand math/rand/v2 crypto/rand database/sql"
	impureCalls   = "time.Now time.Since time.Until time.After time.Sleep http.Get http.NewRequest"

	environmentCalls = "os.Getenv os.LookupEnv os.Environ os.ExpandEnv"
	readEnvironment  = "cmd/fairlead internal/config scripts/*"
)

// testOnly lists the packages that only tests, and these packages, may import.
const testOnly = "internal/store/storetest internal/store/storetest/accounttest " +
	"internal/store/pgtest internal/provider/providertest internal/provider/costtest internal/limit/limittest " +
	"internal/outline/outlinetest internal/cluster/redistest internal/cli/clitest"

func TestImports(t *testing.T) {
	t.Parallel()
	for name, uses := range readPackages(t) {
		if matches(testOnly, name) {
			continue
		}
		for imported := range uses {
			if why := importError(name, imported); why != "" {
				t.Errorf("%s uses %s: %s", name, imported, why)
			}
		}
		if layerOf(name) < 0 {
			t.Errorf("%s is in no group of the table of layers: add it", name)
		}
	}
}

// importError returns why a package must not import another or call a function of the standard library, or an empty string.
func importError(name, used string) string {
	imported, ours := strings.CutPrefix(used, "fairlead.dev/")
	switch {
	case !ours && matches(pure, name) && matches(impureImports+" "+impureCalls, used):
		return "a pure package receives times, random numbers and bytes as arguments"
	case !ours && matches(environmentCalls, used) && !matches(readEnvironment, name):
		return "only the configuration reads the environment; pass the value as an argument"
	case !ours:
		return ""
	case matches(testOnly, imported):
		return "it is only for tests"
	case layerOf(imported) < layerOf(name):
		return "it is in a group above"
	}
	for _, rule := range forbidden {
		if matches(rule.from, name) && matches(rule.imports, imported) && !matches(rule.except, imported) {
			return rule.reason
		}
	}
	return ""
}

func TestImportTableRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, imported string
		allowed        bool
	}{
		{"internal/app", "fairlead.dev/internal/provider/compatible", true},
		{"internal/gateway", "fairlead.dev/internal/wire/strict", true},
		{"internal/gateway", "fairlead.dev/internal/admin", false},
		{"internal/gateway", "fairlead.dev/internal/wire/openai", false},
		{"internal/store", "fairlead.dev/internal/store/storetest", false},
		{"internal/account", "fairlead.dev/internal/gateway", false},
		{"internal/wire/openai", "fairlead.dev/internal/wire/anthropic", false},
		{"internal/account", "fairlead.dev/", false},
		{"internal/route", "time.Now", false},
		{"internal/store", "os.Getenv", false},
	} {
		if why := importError(c.name, c.imported); (why == "") != c.allowed {
			t.Errorf("%s using %s: allowed %t, but the table reports %q", c.name, c.imported, c.allowed, why)
		}
	}
}

// readPackages returns the import paths and qualified names, such as os.Getenv, that the non-test files of each package use. It does not
// run the go command, because the test cache does not track the files that the command reads.
func readPackages(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	root := filepath.Join("..", "..")
	for _, top := range []string{"cmd", "docs", "internal", "web", "scripts", "train"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules"):
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			dir, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				return err
			}
			name := filepath.ToSlash(dir)
			if found[name] == nil {
				found[name] = map[string]bool{}
			}
			return addUses(found[name], file)
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

func addUses(uses map[string]bool, file string) error {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, spec := range tree.Imports {
		uses[strings.Trim(spec.Path.Value, `"`)] = true
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if qualifier, ok := selector.X.(*ast.Ident); ok {
				uses[qualifier.Name+"."+selector.Sel.Name] = true
			}
		}
		return true
	})
	return nil
}

// layerOf returns the group of a package in the table, or -1. An exact name takes precedence over a pattern.
func layerOf(name string) int {
	if i := slices.IndexFunc(layers, func(group string) bool { return slices.Contains(strings.Fields(group), name) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(layers, func(group string) bool { return matches(group, name) })
}

// matches reports whether a name is in the list.
func matches(list, name string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(pattern string) bool {
		matched, err := path.Match(pattern, name)
		return err == nil && matched
	})
}
