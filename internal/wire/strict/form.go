package strict

import (
	"mime"
	"mime/multipart"
	"net/textproto"
	"strings"
)

// PartHeader returns the canonical header of a form part: its name, file name and media type. Parsers read malformed or ambiguous headers
// differently. With the canonical header, the provider reads the same values as the gateway. PartHeader returns an error if the header
// does not have exactly one simple name, or if the part has a transfer encoding such as base64.
func PartHeader(h textproto.MIMEHeader) (textproto.MIMEHeader, error) {
	sent := h["Content-Disposition"]
	if len(sent) != 1 {
		return nil, rejectPart()
	}
	kind, params, err := mime.ParseMediaType(sent[0])
	name := params["name"]
	if err != nil || kind != "form-data" || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' || r == '%' }) {
		return nil, rejectPart()
	}
	for _, encoding := range h["Content-Transfer-Encoding"] {
		switch strings.ToLower(strings.TrimSpace(encoding)) {
		case "7bit", "8bit", "binary":
		default:
			return nil, rejectPart()
		}
	}
	canonical := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + name + `"`}}
	if file, ok := params["filename"]; ok {
		canonical["Content-Disposition"] = []string{multipart.FileContentDisposition(name, file)}
	}
	if media, params, err := mime.ParseMediaType(h.Get("Content-Type")); err == nil {
		canonical["Content-Type"] = []string{mime.FormatMediaType(media, params)}
	}
	return canonical, nil
}

func rejectPart() error {
	return Reject(Problem{Message: "A part of the form has a malformed header. Send Content-Disposition: form-data with one name, and no Content-Transfer-Encoding."})
}
