package openai

import "fairlead.dev/internal/rawjson"

// inputs decodes a string, a list of strings, a list of token IDs, or a list of such lists.
func (d *decoder) inputs(name string) {
	switch d.Kind() {
	case 'n':
		d.Literal("null")
	case '"':
		d.input = true
		if t := d.inputText(); t.Empty() && d.Err == nil && name == "input" {
			d.Problem(name, "%s is empty. Send a string, a list of strings, or token IDs.", name)
		}
		d.req.Inputs = 1
	case '[':
		d.input = true
		d.inputList(name)
	default:
		d.SkipWrongType(name, wantInput)
	}
}

const wantInput = "a string, a list of strings, a list of token IDs, or a list of such lists"

func (d *decoder) inputText() rawjson.String {
	d.Count = true
	t := d.ReadString()
	d.Count = false
	if d.previewText.Empty() {
		d.previewText = t
	}
	d.longest = max(d.longest, t.ASCII+t.NonASCII)
	return t
}

func (d *decoder) inputList(name string) {
	var kind byte // kind of the first element; all elements must have the same kind
	count := 0
	for n := range d.Elements {
		count++
		got := d.Kind()
		if n == 0 {
			kind = got
		}
		if got != kind || !d.inputElement(got) {
			d.mixedInput(name, wantInput)
		}
	}
	switch {
	case d.Err != nil:
	case count == 0:
		d.Problem(name, "%s is an empty list. Send at least one string.", name)
	case kind == '0':
		d.req.Inputs = 1
	case count > maxInputs:
		d.Problem(name, "%s has %d entries; at most %d are allowed in one request.", name, count, maxInputs)
	default:
		d.req.Inputs = count
	}
}

// mixedInput records a problem for inputs that are not of the expected type. want describes this type. It records only one problem per
// field.
func (d *decoder) mixedInput(name, want string) {
	if d.Err == nil && !d.HasProblem(name) {
		d.Problem(name, "%s must be %s.", name, want)
	}
}

func (d *decoder) inputElement(kind byte) bool {
	switch kind {
	case '"':
		d.inputText()
		return true
	case '0':
		return d.tokenID()
	case '[':
		ids, good := 0, true
		for range d.Elements {
			ids++
			good = good && d.Kind() == '0' && d.tokenID()
		}
		d.longest = max(d.longest, ids)
		return good && ids > 0
	}
	return false
}

func (d *decoder) tokenID() bool {
	n, ok := rawjson.ParseInteger(d.Number())
	d.req.TokenIDs++
	d.Size.Elements-- // the value is counted as a token, not as an element
	return ok && n >= 0
}
