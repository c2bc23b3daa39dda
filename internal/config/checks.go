package config

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/document"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/redact"
	"fairlead.dev/internal/spelling"
)

// checks maps the values of check tags to validators.
var checks = map[string]func(name, text string) *fault{
	"listen":     checkListen,
	"url":        checkURL,
	"store":      checkStore,
	"redis":      checkRedis,
	"cidr":       checkCIDR,
	"name":       checkSlug,
	"credential": checkCredential,
	"issuer":     checkIssuer,
	"signing":    checkSigning,
	"model": func(name, text string) *fault {
		if lower := strings.TrimPrefix(strings.ToLower(text), "claude-"); lower == "auto" || strings.HasPrefix(lower, "auto:") {
			return &fault{code: BadValue, message: fmt.Sprintf("%s cannot be %s, which is reserved for routing", name, document.Quote(text)), fix: "choose another name"}
		}
		if modelName.MatchString(text) {
			return nil
		}
		return &fault{code: BadValue, message: fmt.Sprintf("%s is not a valid model name: %s", name, document.Quote(text)), fix: "use at most 200 letters, digits and . - _ : / @ +"}
	},
	"ability": func(name, text string) *fault {
		return checkOneOf(name, "capability", text, (^llm.Abilities(0)).Names())
	},
	"redact": func(name, text string) *fault { return checkOneOf(name, "built-in rule", text, redact.Names()) },
	"tag": func(name, text string) *fault {
		fix := ""
		// Reject tags that are set automatically, because policies rely on them. Accept local, because only the operator knows which
		// providers are local.
		switch text {
		case "zdr":
			fix = "set zero_retention: true instead"
		case "collects":
			fix = "set collects: true instead"
		case "simulated":
			fix = "remove it; the simulator sets it"
		case "open_weights":
			fix = "remove it; the catalog sets it for models with published weights"
		default:
			return checkSlug(name, text)
		}
		return &fault{code: NotAllowed, message: fmt.Sprintf("%s: %s is set automatically", name, document.Quote(text)), fix: fix}
	},
	"server": func(name, text string) *fault { // host:port
		host, port, err := net.SplitHostPort(text)
		n, bad := strconv.ParseUint(port, 10, 16)
		if _, addr := netip.ParseAddr(host); err != nil || bad != nil || n == 0 || (addr != nil && !hostName.MatchString(host)) {
			return &fault{code: BadValue, message: fmt.Sprintf("%s is not a valid server address: %s", name, document.Quote(text)), fix: "write host:port, such as smtp.example.com:587"}
		}
		return nil
	},
	"domain": func(name, text string) *fault {
		if text == strings.ToLower(text) && hostName.MatchString(text) && strings.Contains(text, ".") {
			return nil
		}
		return &fault{code: BadValue, message: fmt.Sprintf("%s: %s is not a domain in lower case", name, document.Quote(text)), fix: "write a domain such as example.com"}
	},
	"email": func(name, text string) *fault {
		if parsed, err := mail.ParseAddress(text); err == nil && parsed.Address == text {
			return nil
		}
		return &fault{code: BadValue, message: fmt.Sprintf("%s: %s is not an email address", name, document.Quote(text)), fix: "write an address such as ops@example.com"}
	},
}

var (
	hostName   = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?$`)
	modelName  = regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@._:/+-]{0,199}$`)
	slug       = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
)

// checkOneOf accepts one of the known words.
func checkOneOf(name, what, text string, known []string) *fault {
	if slices.Contains(known, text) {
		return nil
	}
	return &fault{code: NotAllowed, message: fmt.Sprintf("%s: unknown %s %s", name, what, document.Quote(text)), suggestion: spelling.Closest(text, known), fix: "use " + strings.Join(known, ", ")}
}

func checkListen(name, text string) *fault {
	wrong := &fault{code: BadValue, message: fmt.Sprintf("%s is not a valid listen address: %s", name, document.Quote(text)), fix: "write host:port, such as 127.0.0.1:8080 or :8080"}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		if _, err := strconv.ParseUint(text, 10, 16); err == nil {
			wrong.suggestion = "127.0.0.1:" + text
		} else if !strings.Contains(text, ":") {
			wrong.suggestion = text + ":8080"
		}
		return wrong
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return wrong
	}
	if _, err := netip.ParseAddr(host); host != "" && err != nil && !hostName.MatchString(host) {
		return wrong
	}
	return nil
}

func checkURL(name, text string) *fault {
	u, err := url.Parse(text)
	bad := func(why, fix string) *fault {
		return &fault{code: BadValue, message: fmt.Sprintf("%s %s", name, why), fix: fix}
	}
	switch {
	case err != nil:
		return bad("is not a URL", "write an address such as https://host/v1") // omit err, which can contain a password
	case u.User != nil:
		return bad("contains a user name or password", "put the credential into api_keys or headers")
	case u.Scheme != "http" && u.Scheme != "https":
		wrong := bad("must begin with http:// or https://", "write an address such as https://host/v1")
		if u.Scheme == "" && strings.Contains(text, ".") {
			wrong.suggestion = "https://" + text
		}
		return wrong
	case u.Hostname() == "" || u.Opaque != "":
		return bad("has no host", "write an address such as https://host/v1")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return bad("must not contain a query or fragment", "remove everything after the path")
	case strings.ContainsAny(u.Host, " \t\"<>"):
		return bad("has an invalid host", "write an address such as https://host/v1")
	}
	return nil
}

// checkSigning requires the form of the Standard Webhooks specification.
func checkSigning(name, text string) *fault {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	if strings.HasPrefix(text, "whsec_") && err == nil && len(key) >= 24 {
		return nil
	}
	return &fault{code: WeakSecret, message: name + " must be whsec_ followed by at least 24 bytes in base64", fix: `generate one with  echo "whsec_$(openssl rand -base64 32)"`}
}

func checkStore(name, text string) *fault {
	if text == "sqlite" {
		return nil
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && (u.Host != "" || u.Query().Get("host") != "") {
		return nil
	}
	wrong := &fault{code: BadValue, message: name + " must be sqlite or the URL of a PostgreSQL database", fix: "write sqlite, or postgres://user@host/database"}
	if !strings.Contains(text, ":") {
		wrong.suggestion = spelling.Closest(text, []string{"sqlite"})
	}
	return wrong
}

func checkRedis(name, text string) *fault {
	bad := func(why, fix string) *fault { return &fault{code: BadValue, message: name + " " + why, fix: fix} }
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "") && (u.Scheme != "unix" || u.Path == "") {
		return bad("is not a Redis URL", "write redis://host:6379/0, rediss:// for TLS")
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return bad(fmt.Sprintf("has an invalid port: %s", document.Quote(u.Port())), "write a port from 1 to 65535")
	}
	if database := strings.Trim(u.Path, "/"); u.Scheme != "unix" && database != "" {
		if _, err := strconv.ParseUint(database, 10, 31); err != nil {
			return bad(fmt.Sprintf("must end with a database number, not %s", document.Quote(database)), "write redis://host:6379/0, rediss:// for TLS")
		}
	}
	if _, err := redis.ParseURL(text); err != nil { // omit err from the message, because it can contain a password
		return bad("has an unknown parameter or an invalid value", "correct or remove the query parameters")
	}
	return nil
}

func checkCIDR(name, text string) *fault {
	prefix, err := netip.ParsePrefix(text)
	if err == nil && prefix == prefix.Masked() {
		return nil
	}
	wrong := &fault{code: BadValue, message: fmt.Sprintf("%s: %s is not an address range", name, document.Quote(text)), fix: "write a range such as 127.0.0.0/8 or fd00::/8"}
	if err == nil {
		wrong.suggestion = prefix.Masked().String()
	} else if addr, err := netip.ParseAddr(text); err == nil {
		wrong.suggestion = netip.PrefixFrom(addr.WithZone(""), addr.BitLen()).String()
	}
	return wrong
}

// ValidName reports whether text is a valid provider name.
func ValidName(text string) bool { return slug.MatchString(text) }

func checkSlug(name, text string) *fault {
	if slug.MatchString(text) {
		return nil
	}
	wrong := &fault{code: BadValue, message: fmt.Sprintf("%s is invalid: %s", name, document.Quote(text)), fix: "use at most 64 lower-case letters, digits, dots, dashes and underscores"}
	if better := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-"); slug.MatchString(better) {
		wrong.suggestion = better
	}
	return wrong
}

// checkCredential validates a credential. Control characters are rejected, because a line break would end the header. JSON
// documents are allowed, because some clouds use them as credentials and they are not sent in a header.
func checkCredential(name, text string) *fault {
	switch {
	case strings.TrimSpace(text) == "":
		return &fault{code: WeakSecret, message: name + " contains an empty credential", fix: "set a value, or remove it"}
	case strings.HasPrefix(text, "{"):
		return nil
	case text != strings.TrimSpace(text) || document.Clean(text) != text:
		return &fault{code: BadValue, message: name + " contains a credential with surrounding spaces or control characters", fix: "remove them"}
	case len(text) < redact.MinCredential:
		return &fault{
			code:    WeakSecret,
			message: fmt.Sprintf("%s contains a credential with fewer than %d characters, which is too short to be redacted reliably in logs", name, redact.MinCredential),
			fix:     "use a longer credential, or remove it if the provider does not need one",
		}
	}
	return nil
}

// checkHeaders validates a map whose entries may become headers.
func (l *loader) checkHeaders(path, field string, headers map[string]string) {
	ours := []string{"connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := headers[name]
		switch {
		case !headerName.MatchString(name):
			l.complain(join(path, name), fault{code: BadValue, message: fmt.Sprintf("%s: %s is not a valid header name", field, document.Quote(name)), fix: "use letters, digits and dashes"})
		case slices.Contains(ours, strings.ToLower(name)):
			l.complain(join(path, name), fault{code: NotAllowed, message: fmt.Sprintf("%s: %s is set by the gateway", field, name), fix: "remove it"})
		case document.Clean(value) != value:
			l.complain(join(path, name), fault{code: BadValue, message: fmt.Sprintf("%s: the value of %s contains control characters", field, name), fix: "remove them"})
		}
	}
}
