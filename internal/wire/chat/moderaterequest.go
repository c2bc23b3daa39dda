package chat

import "fairlead/internal/llm"

// DefaultModeration is the model of a moderations request that names none, as at OpenAI.
const DefaultModeration = "omni-moderation-latest"

// moderate reads the members of a moderations request.
func (d *decoder) moderate(name string) {
	if name == "input" {
		d.moderated()
	}
}

const wantModerated = "a text, a list of texts, or a list of parts"

// moderated reads a text, a list of texts, or a list of parts, which are judged together.
func (d *decoder) moderated() {
	switch d.kind() {
	case 'n':
		d.literal("null")
	case '"':
		d.input = true
		d.inputText()
		d.req.Inputs = 1
	case '[':
		d.input = true
		d.moderatedList()
	default:
		d.wrong("input", wantModerated)
	}
}

func (d *decoder) moderatedList() {
	var kind byte // of the first element: lists do not mix
	count := 0
	for n := range d.elements {
		count++
		got := d.kind()
		if n == 0 {
			kind = got
		}
		switch {
		case got != kind:
			d.mixedInput("input", wantModerated)
		case got == '"':
			d.inputText()
		case got == '{':
			d.moderatedPart()
		default:
			d.mixedInput("input", wantModerated)
		}
	}
	switch {
	case d.err != nil:
	case count == 0:
		d.problem("input", "input is an empty list. Send at least one text.")
	case count > maxInputs:
		d.problem("input", "input has %d entries; at most %d are allowed in one request.", count, maxInputs)
	case kind == '"':
		d.req.Inputs = count
	}
}

// moderatedPart reads a text or a picture.
func (d *decoder) moderatedPart() {
	for key := range d.members {
		switch string(key) {
		case "type":
		case "text":
			if d.kind() == '"' {
				d.inputText()
			} else {
				d.counted()
			}
		case "image_url":
			d.req.Needs |= llm.Vision
			d.req.Images++
			d.image(d.value())
		default:
			d.only("input.", key, "type", "text", "image_url")
		}
	}
}
