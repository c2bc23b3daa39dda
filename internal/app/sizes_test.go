package app_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Limits of the packages of the program. Packages for tests and generated files have none.
const (
	maxLines            = 2500 // of a package, without blank lines and comments
	maxMethods          = 60   // of a type
	maxInterfaceMethods = 6    // an embedded interface counts as one
	maxFields           = 15   // of a struct in a package of requestPath; an embedded struct counts as one
)

// requestPath lists packages that serve requests and have no large structs.
var requestPath = []string{
	"internal/bill",
	"internal/cascade",
	"internal/conversation",
	"internal/health",
	"internal/length",
	"internal/limit",
	"internal/llm",
	"internal/promptcache",
	"internal/reasoning",
	"internal/redaction",
	"internal/rescue",
	"internal/responsecache",
	"internal/session",
	"internal/storedresponse",
	"internal/token",
	"internal/turncache",
}

// size is the size of the files of a package that are not generated.
type size struct {
	lines      int
	methods    map[string]int // by type
	interfaces map[string]int // methods by interface; the largest one of those without a name
	fields     map[string]int // by struct; the largest one of those without a name
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

func TestStructsOfTheRequestPathAreSmall(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, name := range requestPath {
		if all[name] == nil {
			t.Errorf("%s is not a package", name)
			continue
		}
		for of, n := range all[name].size.fields {
			if n > maxFields {
				t.Errorf("the struct %s.%s has %d fields, more than %d: group them by concept", name, of, n, maxFields)
			}
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

// add adds a file.
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
