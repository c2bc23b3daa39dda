package manual

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// home is the name of the home page.
const home = "index"

// page is one Markdown file.
type page struct {
	name   string // path without extension
	title  string
	source []byte
	render func() rendered // renders the page on the first call and returns the same result on later calls
}

// rendered is the result of rendering a page.
type rendered struct {
	html     string
	sections []section
}

// section is the part of a page below one heading.
type section struct {
	page  *page
	id    string // URL fragment of the heading; empty for the text between the title and the next heading
	level int
	title string
	text  string
}

// group is a heading of the navigation with its links.
type group struct {
	Title string
	Links []navLink
}

type navLink struct {
	URL, Title, Note string
}

// read loads all pages. The files are embedded and the OpenAPI document is generated, so an error is a bug that a test finds.
func (s *Site) read() *content {
	c := &content{pages: map[string]*page{}}
	err := fs.WalkDir(s.files, ".", func(file string, d fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(file, ".md")
		if err != nil || d.IsDir() || !ok {
			return err
		}
		source, err := fs.ReadFile(s.files, file)
		if err != nil {
			return err
		}
		c.addPage(s.files, name, source)
		return nil
	})
	if err != nil {
		panic(fmt.Errorf("read the documentation: %w", err))
	}
	document, err := s.openAPI()
	if err != nil {
		panic(fmt.Errorf("read the OpenAPI document: %w", err))
	}
	reference, err := adminPage(document)
	if err != nil {
		panic(err)
	}
	c.addPage(s.files, adminReference, reference)
	c.groups = c.navigation()
	c.search = sync.OnceValue(c.sections)
	return c
}

func (c *content) addPage(files fs.FS, name string, source []byte) {
	heading, _, _ := strings.Cut(string(source), "\n")
	p := &page{name: name, title: strings.ReplaceAll(strings.TrimPrefix(heading, "# "), "`", ""), source: source}
	p.render = sync.OnceValue(func() rendered { return c.renderPage(files, p) })
	c.pages[name] = p
}

// url returns the address of a page.
func (p *page) url() string {
	if p.name == home {
		return Prefix
	}
	return Prefix + "/" + p.name
}

// summary returns the first paragraph of a page as plain text.
func (p *page) summary() string {
	for block := range bytes.SplitSeq(p.source, []byte("\n\n")) {
		if len(block) > 0 && block[0] != '#' {
			plain := strings.ReplaceAll(markdownLink.ReplaceAllString(string(block), "$1"), "`", "")
			return strings.Join(strings.Fields(plain), " ")
		}
	}
	return ""
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)\s]*\)`)

func newMarkdown() goldmark.Markdown {
	// The default method writes style attributes, which the content security policy forbids.
	table := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	return goldmark.New(goldmark.WithExtensions(table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

func parse(md goldmark.Markdown, source []byte) ast.Node {
	return md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{used: map[string]int{}}))))
}

// renderPage converts a page to HTML. Links to other pages get their addresses on the site; links to other files become
// text.
func (c *content) renderPage(files fs.FS, p *page) rendered {
	md := newMarkdown()
	doc := parse(md, p.source)
	for _, n := range nodes(doc) {
		switch n := n.(type) {
		case *ast.Link:
			to, ok := c.resolve(p, string(n.Destination), "")
			if !ok {
				unlink(n)
				continue
			}
			n.Destination = []byte(to)
		case *ast.Image:
			name := path.Join(path.Dir(p.name), string(n.Destination))
			if _, err := fs.Stat(files, name); err == nil {
				n.Destination = []byte(Prefix + "/" + name)
			}
		}
	}
	sections := p.split(doc)
	addTabs(doc, p.source)
	var out bytes.Buffer
	if err := md.Renderer().Render(&out, p.source, doc); err != nil {
		panic(fmt.Errorf("render %s: %w", p.name, err)) // a buffer accepts all writes
	}
	// tabindex lets users scroll wide tables and code with the keyboard. Code is escaped, so it cannot contain these tags.
	scrollable := strings.NewReplacer(
		"<pre>", `<pre tabindex="0">`, "<table>", `<div class="table" tabindex="0"><table>`, "</table>", "</table></div>",
	)
	return rendered{html: scrollable.Replace(out.String()), sections: sections} // goldmark escapes raw HTML
}

// addTabs turns the sections of level 3 below a comment <!-- tabs --> into tabs, until the next heading of level 2. A tab is a details
// element, which needs no script: a link to its heading opens it, and a browser that lacks a selector of the style sheet shows an accordion.
func addTabs(doc ast.Node, source []byte) {
	html := func(before ast.Node, text string) {
		raw := ast.NewString([]byte(text))
		raw.SetCode(true)                  // the renderer does not escape it
		doc.InsertBefore(doc, before, raw) // appends if before is nil
	}
	var group, tabs int // tabs counts those of the current group; -1 outside of groups
	tabs = -1
	for n := doc.FirstChild(); n != nil; {
		next := n.NextSibling()
		heading, _ := n.(*ast.Heading)
		comment, _ := n.(*ast.HTMLBlock)
		switch {
		case comment != nil && bytes.Contains(comment.Lines().Value(source), []byte("<!-- tabs -->")):
			html(n, `<div class="tabs">`)
			doc.RemoveChild(doc, n)
			group, tabs = group+1, 0
		case tabs >= 0 && heading != nil && heading.Level == 3:
			open := " open"
			if tabs > 0 {
				html(n, "</details>\n")
				open = ""
			}
			html(n, fmt.Sprintf("\n<details name=\"tabs-%d\"%s><summary>", group, open))
			id, _ := heading.AttributeString("id")
			heading.RemoveAttributes() // a link opens a tab only if its target is in the content
			html(next, fmt.Sprintf("</summary>\n<span id=\"%s\"></span>\n", id))
			tabs++
		case tabs >= 0 && heading != nil:
			html(n, "</details>\n</div>\n")
			tabs = -1
		}
		n = next
	}
	if tabs >= 0 {
		html(nil, "</details>\n</div>\n")
	}
}

// nodes returns the nodes of a tree as a list, so that the tree can be changed while the list is read.
func nodes(root ast.Node) []ast.Node {
	var list []ast.Node
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if entering {
			list = append(list, n)
		}
		return ast.WalkContinue, nil
	})
	return list
}

// unlink replaces a link with its text.
func unlink(link ast.Node) {
	parent := link.Parent()
	for child := link.FirstChild(); child != nil; {
		next := child.NextSibling()
		parent.InsertBefore(parent, link, child)
		child = next
	}
	parent.RemoveChild(parent, link)
}

// resolve returns the address of a link on a page. Fragments, absolute paths and URLs with a scheme are returned unchanged. For other
// links, ok is false if the link does not lead to a page. If extension is not empty, the address is that of the page with this extension.
func (c *content) resolve(p *page, destination, extension string) (address string, ok bool) {
	target, fragment, hasFragment := strings.Cut(destination, "#")
	if target == "" || strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
		return destination, true
	}
	name, isPage := strings.CutSuffix(path.Join(path.Dir(p.name), target), ".md")
	if name == "openapi.json" {
		name, isPage = adminReference, true
	}
	linked := c.pages[name]
	if !isPage || linked == nil {
		return "", false
	}
	address = linked.url()
	if extension != "" {
		address = Prefix + "/" + linked.name + extension
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address, true
}

// split returns the sections of a page.
func (p *page) split(doc ast.Node) []section {
	list := []section{{page: p, level: 1, title: p.title}}
	var words strings.Builder
	finish := func() {
		list[len(list)-1].text = strings.Join(strings.Fields(words.String()), " ")
		words.Reset()
	}
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			if h.Level == 1 {
				continue
			}
			finish()
			id, _ := h.AttributeString("id")
			raw, _ := id.([]byte) // every heading has an ID
			list = append(list, section{page: p, id: string(raw), level: h.Level, title: nodeText(h, p.source)})
			continue
		}
		words.WriteString(nodeText(n, p.source) + " ")
	}
	finish()
	return list
}

// nodeText returns the text of a node without markup.
func nodeText(root ast.Node, source []byte) string {
	var b strings.Builder
	for _, n := range nodes(root) {
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		default:
			if n.Type() == ast.TypeBlock && n != root {
				b.WriteByte(' ')
			}
		}
	}
	return b.String()
}

// navigation reads the home page: each heading is a group, and each list item that starts with a link is a page.
func (c *content) navigation() []group {
	p := c.pages[home]
	var groups []group
	for n := parse(newMarkdown(), p.source).FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				groups = append(groups, group{Title: nodeText(n, p.source)})
			}
		case *ast.List:
			for item := n.FirstChild(); item != nil && len(groups) > 0; item = item.NextSibling() {
				link, ok := item.FirstChild().FirstChild().(*ast.Link)
				if !ok {
					continue
				}
				address, _ := c.resolve(p, string(link.Destination), "")
				title := nodeText(link, p.source)
				note := strings.TrimPrefix(strings.TrimSpace(nodeText(item, p.source)), title+": ")
				g := &groups[len(groups)-1]
				g.Links = append(g.Links, navLink{URL: address, Title: title, Note: note})
			}
		}
	}
	return append(groups, c.unlisted(groups)...)
}

// unlisted returns a group of the pages, other than the home page, that the given groups do not link. It returns nil if all pages are
// linked.
func (c *content) unlisted(listed []group) []group {
	more := group{Title: "More"}
	for _, name := range slices.Sorted(maps.Keys(c.pages)) {
		p := c.pages[name]
		isListed := slices.ContainsFunc(listed, func(g group) bool {
			return slices.ContainsFunc(g.Links, func(l navLink) bool { return l.URL == p.url() })
		})
		if !isListed && name != home {
			more.Links = append(more.Links, navLink{URL: p.url(), Title: p.title, Note: p.summary()})
		}
	}
	if len(more.Links) == 0 {
		return nil
	}
	return []group{more}
}

// headingIDs generates the fragments of headings as GitHub does. A heading that consists of an error code keeps its case, so that the
// fragment equals the code.
type headingIDs struct{ used map[string]int }

var (
	errorCode   = regexp.MustCompile(`^[A-Z][A-Z_]{6,}$`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Generate implements parser.IDs.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := strings.TrimSpace(string(value))
	if !errorCode.MatchString(id) {
		id = strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(markdownLink.ReplaceAllString(id, "$1")), ""), " ", "-")
	}
	n := h.used[id]
	h.used[id]++
	if n > 0 {
		id = fmt.Sprintf("%s-%d", id, n)
	}
	return []byte(id)
}

// Put implements parser.IDs.
func (h *headingIDs) Put(value []byte) { h.used[util.BytesToReadOnlyString(value)]++ }

// markdown returns the source of a page with links to the Markdown of other pages.
func (c *content) markdown(p *page) []byte {
	return markdownLink.ReplaceAllFunc(p.source, func(link []byte) []byte {
		open := bytes.LastIndex(link, []byte("]("))
		to, ok := c.resolve(p, string(link[open+2:len(link)-1]), ".md")
		if !ok {
			return link[1:open]
		}
		return slices.Concat(link[:open+2], []byte(to), []byte(")"))
	})
}

// llms returns the page index in the llms.txt format.
func (c *content) llms() []byte {
	var b bytes.Buffer
	p := c.pages[home]
	fmt.Fprintf(&b, "# %s\n\n> %s\n", p.title, p.summary())
	for _, g := range c.groups {
		fmt.Fprintf(&b, "\n## %s\n\n", g.Title)
		for _, l := range g.Links {
			address, fragment, _ := strings.Cut(l.URL, "#")
			if fragment != "" {
				fragment = "#" + fragment
			}
			fmt.Fprintf(&b, "- [%s](%s.md%s): %s\n", l.Title, address, fragment, l.Note)
		}
	}
	return b.Bytes()
}
