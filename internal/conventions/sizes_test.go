package conventions

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Size limits for the program's packages. Test packages and generated files have no limits.
const (
	maxLines            = 2500 // maximum lines of a package, without blank lines and comments
	maxMethods          = 60   // maximum methods of a type
	maxInterfaceMethods = 6    // an embedded interface counts as one
	maxFields           = 15   // maximum fields of a struct on the request path; an embedded struct counts as one
)

// largeStructs lists the structs on the request path that may have more than maxFields fields, with the reason.
var largeStructs = map[string]string{
	"internal/catalog.Model":              "a row of the catalog",
	"internal/catalog.Override":           "a row of the settings file",
	"internal/catalog.Price":              "a price for each class of tokens",
	"internal/policy.Policy":              "a policy of the settings file",
	"internal/policy.rule":                "a parsed policy",
	"internal/policy/condition.Request":   "the names that conditions use as request.NAME",
	"internal/predict.textStats":          "a counter for each feature",
	"internal/provider/compatible.Row":    "a row of the table of vendors",
	"internal/provider/vertex.credential": "Google's credentials file",
	"internal/requestlog.Column":          "a row of the table of columns",
	"internal/wire/gemini.schema":         "a schema of the Gemini format",
	"internal/wire/responses.response":    "a response of the Responses format",
}

// size holds the sizes that TestPackagesAreSmall limits, without generated files.
type size struct {
	lines      int
	methods    map[string]int // number of methods by type
	interfaces map[string]int // number of methods by interface; the largest number for interfaces without a name
	fields     map[string]int // number of fields by struct; the largest number for structs without a name
}

func TestPackagesAreSmall(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range program(all) {
		s := all[name].size
		if s.lines > maxLines {
			t.Errorf("%s has %d lines of code, more than %d: move a part to a package of its own", name, s.lines, maxLines)
		}
		for of, n := range s.methods {
			if n > maxMethods {
				t.Errorf("%s.%s has %d methods, more than %d: it is several types", name, of, n, maxMethods)
			}
		}
		for of, n := range s.interfaces {
			if n > maxInterfaceMethods {
				t.Errorf("the interface %s.%s has %d methods, more than %d: it is several interfaces", name, of, n, maxInterfaceMethods)
			}
		}
	}
}

// The request path is package gateway with all packages that it imports, and the formats and vendors that it calls through interfaces.
func TestStructsOfTheRequestPathAreSmall(t *testing.T) {
	t.Parallel()
	all := packages(t)
	path := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if all[name] == nil || path[name] {
			return
		}
		path[name] = true
		for other := range all[name].imports {
			visit(other)
		}
	}
	visit("internal/gateway")
	for _, name := range program(all) {
		if strings.HasPrefix(name, "internal/wire/") || strings.HasPrefix(name, "internal/provider/") {
			visit(name)
		}
	}
	large := map[string]bool{}
	for name := range path {
		for of, n := range all[name].size.fields {
			key := name + "." + of
			if n <= maxFields {
				continue
			}
			if large[key] = true; largeStructs[key] == "" {
				t.Errorf("the struct %s has %d fields, more than %d: group them by concept", key, n, maxFields)
			}
		}
	}
	for key := range largeStructs {
		if !large[key] {
			t.Errorf("%s has at most %d fields or is not on the request path: remove it from largeStructs", key, maxFields)
		}
	}
}

// TestOnlyTestsImportTestPackages compares the packages that the program does not import with the list of packages for tests.
func TestOnlyTestsImportTestPackages(t *testing.T) {
	t.Parallel()
	all := packages(t)
	inProgram := program(all)
	var others []string
	for name := range all {
		if !slices.Contains(inProgram, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	if diff := cmp.Diff(slices.Sorted(slices.Values(testOnly)), others); diff != "" {
		t.Errorf("packages that the program does not import (-testOnly +found):\n%s", diff)
	}
}

// program returns the packages that the program imports, directly or through others.
func program(all map[string]*goPackage) []string {
	found := []string{"cmd/fairlead"}
	for i := 0; i < len(found); i++ {
		for imported := range all[found[i]].imports {
			if all[imported] != nil && !slices.Contains(found, imported) {
				found = append(found, imported)
			}
		}
	}
	return found
}

// add adds the lines, methods and fields of a file.
func (s *size) add(source []byte, tree *ast.File) {
	for line := range bytes.Lines(source) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			s.lines++
		}
	}
	named := map[ast.Expr]string{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil {
				s.methods[receiver(n.Recv.List[0].Type)]++
			}
		case *ast.TypeSpec:
			named[n.Type] = n.Name.Name
		case *ast.InterfaceType:
			methods := 0
			for _, field := range n.Methods.List {
				methods += max(len(field.Names), 1)
			}
			s.interfaces[named[n]] = max(s.interfaces[named[n]], methods)
		case *ast.StructType:
			fields := 0
			for _, field := range n.Fields.List {
				fields += max(len(field.Names), 1)
			}
			s.fields[named[n]] = max(s.fields[named[n]], fields)
		}
		return true
	})
}

// receiver returns the name of a type without its pointer and type parameters.
func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.IndexListExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

func TestSizeCountsCode(t *testing.T) {
	t.Parallel()
	const source = `// Package p has a comment.
package p

type both interface {
	read() // counted
	write()
	error
}

func use(interface{ a(); b() }) {}

type point struct {
	both
	x, y int
}

var origin struct{ x int }

// Several types have methods.
func (pair[K, V]) one()  {}
func (*pair[K, V]) two() {}
func (*list[T]) one()    {}
func (plain) one()       {}
`
	tree, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := size{methods: map[string]int{}, interfaces: map[string]int{}, fields: map[string]int{}}
	got.add([]byte(source), tree)
	want := size{
		lines: 16, methods: map[string]int{"pair": 2, "list": 1, "plain": 1}, interfaces: map[string]int{"both": 3, "": 2},
		fields: map[string]int{"point": 3, "": 1},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(size{})); diff != "" {
		t.Error(diff)
	}
}
