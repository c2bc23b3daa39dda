package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/spelling"
)

// shortestMasterKey is the minimum length of a master key.
const shortestMasterKey = 32

// check validates single values by their tags, then combinations.
func (l *loader) check(o Options) {
	// Top-level timeouts must be positive, because they have nothing to inherit from. Only the headers timeout can be zero; the
	// first-token timeout then applies. This check runs before the checks by tag, because it is stricter and only the first problem of a
	// value is reported.
	visit(reflect.ValueOf(&l.config.Timeouts).Elem(), "timeouts", func(path string, f field, v reflect.Value) {
		if f.name != "headers" {
			f.check = "positive"
		}
		l.checkDuration(path, f, time.Duration(v.Int()))
	})
	visit(reflect.ValueOf(&l.config).Elem(), "", l.checkField)
	l.checkServer()
	l.checkExport()
	l.checkSSO()
	l.checkProviders(o)
	l.checkModels("models", l.config.Models)
}

// complain reports a problem with the value at path, unless a problem was already reported there.
func (l *loader) complain(path string, wrong fault) {
	if l.damaged[path] {
		return
	}
	l.damaged[path] = true
	l.report(path, originOf(l.origins, path), wrong)
}

func (l *loader) checkField(path string, f field, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			l.checkText(at(path, i), f, v.Index(i).String())
		}
	case v.Kind() == reflect.Map:
		l.checkHeaders(path, f.name, v.Interface().(map[string]string))
	case v.Type() == durationType:
		l.checkDuration(path, f, time.Duration(v.Int()))
	case v.Type() == sizeType:
		l.checkRange(path, f, float64(v.Int()), func(n float64) string { return Size(n).String() })
	case v.CanInt():
		l.checkRange(path, f, float64(v.Int()), plain)
	case v.CanFloat():
		l.checkRange(path, f, v.Float(), plain)
	case v.Kind() == reflect.String && v.Len() > 0:
		l.checkText(path, f, v.String())
	}
}

func (l *loader) checkDuration(path string, f field, d time.Duration) {
	want := "0 or longer"
	if f.check == "positive" {
		want = "longer than 0"
	}
	if d < 0 || (d == 0 && f.check == "positive") {
		l.complain(path, fault{code: OutOfRange, message: fmt.Sprintf("%s must be %s, not %s", f.name, want, FormatDuration(d)), fix: "write a duration such as 10s"})
	}
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (l *loader) checkRange(path string, f field, n float64, show func(float64) string) {
	lower, lowerErr := strconv.ParseFloat(f.lowest, 64)
	upper, upperErr := strconv.ParseFloat(f.most, 64)
	tooSmall, tooLarge := lowerErr == nil && n < lower, upperErr == nil && n > upper
	if !tooSmall && !tooLarge {
		return
	}
	want := "at least " + show(lower)
	if upperErr == nil {
		want = fmt.Sprintf("from %s to %s", show(lower), show(upper))
	}
	l.complain(path, fault{code: OutOfRange, message: fmt.Sprintf("%s must be %s, not %s", f.name, want, show(n)), fix: "choose a value in that range"})
}

func (l *loader) checkText(path string, f field, text string) {
	if f.check == "" {
		return
	}
	if wrong := checks[f.check](f.name, text); wrong != nil {
		l.complain(path, *wrong)
	}
}

func (l *loader) checkServer() {
	c := &l.config
	switch refresh := c.Catalog.Refresh; {
	case refresh == "", refresh == "daily", refresh == "off", strings.ContainsAny(refresh, "./\\"):
	default:
		l.complain("catalog.refresh", fault{code: OutOfRange, message: "refresh must be daily, off or the path of a file, not " + refresh, fix: "write daily, off or a path such as /etc/fairlead/models.json"})
	}
	if c.Listen == "" {
		l.complain("listen", fault{code: MissingField, message: "listen is empty", fix: "write an address such as 127.0.0.1:8080"})
	}
	if c.AdminListen != "" && c.AdminListen == c.Listen && !strings.HasSuffix(c.Listen, ":0") {
		l.complain("admin_listen", fault{code: Contradictory, message: "admin_listen is the same address as listen", fix: "give it another port"})
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		set := "tls.cert"
		if c.TLS.Cert == "" {
			set = "tls.key"
		}
		l.complain(set, fault{code: Contradictory, message: "tls needs both cert and key", fix: "set both, or neither"})
	}
	if key := c.MasterKey; key != "" { // an empty key makes the server generate a master key
		wrong := ""
		switch n := utf8.RuneCountInString(key); {
		case strings.TrimSpace(key) == "":
			wrong = "master_key is blank"
		case n < shortestMasterKey:
			wrong = fmt.Sprintf("master_key has %d characters, but needs at least %d", n, shortestMasterKey)
		}
		if wrong != "" {
			l.complain("master_key", fault{code: WeakSecret, message: wrong, fix: "generate one with  openssl rand -hex 32"})
		}
	}
	if c.Limits.Buffered < c.Limits.Body && c.Limits.Buffered > 0 {
		path := "limits.body"
		if _, ok := l.origins["limits.buffered"]; ok {
			path = "limits.buffered" // report the value that is set explicitly
		}
		l.complain(path, fault{code: Contradictory, message: fmt.Sprintf("limits.buffered (%s) is less than limits.body (%s), so the largest allowed request would always be rejected", c.Limits.Buffered, c.Limits.Body), fix: "raise limits.buffered or lower limits.body"})
	}
}

func (l *loader) checkExport() {
	e := &l.config.Export
	set := slices.DeleteFunc([]string{"file", "webhook", "otlp"}, func(name string) bool {
		return map[string]string{"file": e.File, "webhook": e.Webhook, "otlp": e.OTLP}[name] == ""
	})
	switch {
	case len(set) > 1:
		l.complain("export."+set[1], fault{code: Contradictory, message: fmt.Sprintf("export has both %s and %s", set[0], set[1]), fix: "keep one of them"})
	case e.Secret != "" && e.Webhook == "":
		l.complain("export.secret", fault{code: Contradictory, message: "secret signs webhooks, but export has no webhook", fix: "remove secret, or set webhook"})
	case len(e.Headers) > 0 && e.Webhook == "" && e.OTLP == "":
		l.complain("export.headers", fault{code: Contradictory, message: "headers are sent by webhook and otlp, but export has neither", fix: "remove headers"})
	case len(set) == 0 && e.Bodies:
		l.complain("export.bodies", fault{code: Contradictory, message: "export has no receiver", fix: "set file, webhook or otlp"})
	}
	if e.File != "" && !filepath.IsAbs(e.File) {
		l.complain("export.file", fault{code: BadValue, message: "file must be an absolute path, not " + document.Quote(e.File), fix: "write a path such as /var/log/fairlead/evidence.jsonl"})
	}
}

func (l *loader) checkProviders(o Options) {
	seen := map[string]string{}
	for i, p := range l.config.Providers {
		path := at("providers", i)
		l.checkName(path, "provider", p.Name, seen)
		l.checkVendor(path, p, o.Vendors)
		known := slices.Contains(o.Vendors, cmp.Or(p.Vendor, p.Name))
		if known && o.Missing != nil && !p.Disabled && !l.damaged[join(path, "base_url")] && !l.damaged[join(path, "format")] {
			lookup := func(name string) string { return l.environ[name] }
			if fix := o.Missing(p, lookup); fix != "" { // an option that is part of the address is missing, such as a region
				l.complain(join(path, "name"), fault{code: MissingField, message: fmt.Sprintf("provider %s has no address", document.Quote(p.Name)), fix: fix})
			}
		}
		l.checkModels(join(path, "models"), p.Models)
	}
}

// checkVendor requires a known vendor or a base_url.
func (l *loader) checkVendor(path string, p Provider, vendors []string) {
	vendor := cmp.Or(p.Vendor, p.Name)
	if vendors == nil || vendor == "" || slices.Contains(vendors, vendor) {
		return
	}
	if p.Vendor != "" {
		l.complain(join(path, "vendor"), fault{code: NotAllowed, message: fmt.Sprintf("unknown vendor %s", document.Quote(p.Vendor)), suggestion: spelling.Closest(p.Vendor, vendors), fix: "use a known vendor, or remove vendor and set format and base_url"})
		return
	}
	if p.BaseURL == "" && !l.damaged[join(path, "base_url")] && !l.damaged[path] {
		l.complain(join(path, "name"), fault{
			code:       MissingField,
			message:    fmt.Sprintf("provider %s is not a known vendor and has no base_url", document.Quote(p.Name)),
			suggestion: spelling.Closest(p.Name, vendors),
			fix:        "add base_url: https://host/v1, or name a known vendor",
		})
	}
}

func (l *loader) checkModels(path string, models []Model) {
	seen := map[string]string{}
	for i, m := range models {
		one := at(path, i)
		l.checkName(one, "model", m.Name, seen)
		for j, alias := range m.Aliases {
			l.checkTwice(at(join(one, "aliases"), j), "alias", alias, seen)
		}
	}
}

// checkName checks that a name is set and unique.
func (l *loader) checkName(path, what, name string, seen map[string]string) {
	if name == "" {
		if !l.damaged[path] && !l.damaged[join(path, "name")] {
			l.complain(path, fault{code: MissingField, message: fmt.Sprintf("a %s has no name", what), fix: "add a name"})
		}
		return
	}
	l.checkTwice(join(path, "name"), what, name, seen)
}

func (l *loader) checkTwice(path, what, name string, seen map[string]string) {
	key := strings.ToLower(name)
	first, twice := seen[key]
	if !twice {
		seen[key] = path
		return
	}
	where := ""
	if o := originOf(l.origins, first); o.Line > 0 {
		where = fmt.Sprintf(", already defined on line %d", o.Line)
	}
	l.complain(path, fault{code: Repeated, message: fmt.Sprintf("duplicate %s %s%s", what, document.Quote(name), where), fix: "rename one of them, or merge them"})
}
