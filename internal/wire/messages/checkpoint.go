package messages

import (
	"maps"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/strict"
)

// checkpoint holds the state of a decoder after it has decoded a message. It does not refer to the body.
type checkpoint struct {
	prefix            strict.Prefix
	request           llm.Request
	seen              map[string]bool
	asked, instructed span
	special           bool
}

// mark is a position in the message list at which a checkpoint is stored for the next turn.
type mark struct {
	prefix *strict.Prefix
	state  *checkpoint // checkpoint at the position; nil until the decoder reaches the position
}

// resume restores the state of a checkpoint and decodes the rest of the messages. It returns the index of the top-level member after the
// messages.
func (d *decoder) resume(c *checkpoint) int {
	fields, body, op := d.req.Fields, d.req.Body, d.req.Op
	*d.req = c.request.Clone()
	d.req.Fields, d.req.Body, d.req.Op = fields, body, op
	d.seen, d.asked, d.instructed, d.special = maps.Clone(c.seen), c.asked, c.instructed, c.special
	list := len(c.prefix.Fields)
	rest := strings.TrimLeft(string(body[c.prefix.End():fields[list].End]), " \t\r\n")
	// rest begins with a comma or with the closing bracket of the list. An opening bracket in place of the comma makes rest a list of the
	// remaining messages.
	d.base = fields[list].End - len(rest)
	rest = "[" + strings.TrimPrefix(rest, ",")
	if rest == "[]" {
		d.base--
	}
	d.messageList(rawjson.Value{Kind: rawjson.List, Raw: rest}, c.prefix.Next)
	return list + 1
}
