package openai

import "fairlead.dev/internal/llm"

const wantModerationInput = "a string, a list of strings, or a list of parts"

// moderationInput decodes a string, a list of strings, or a list of parts, which form one input.
func (d *decoder) moderationInput() {
	switch d.Kind() {
	case 'n':
		d.Literal("null")
	case '"':
		d.input = true
		d.inputText()
		d.req.Inputs = 1
	case '[':
		d.input = true
		d.moderationList()
	default:
		d.SkipWrongType("input", wantModerationInput)
	}
}

func (d *decoder) moderationList() {
	var kind byte // kind of the first element; all elements must have the same kind
	count := 0
	for n := range d.Elements {
		count++
		got := d.Kind()
		if n == 0 {
			kind = got
		}
		switch {
		case got != kind:
			d.mixedInput("input", wantModerationInput)
		case got == '"':
			d.inputText()
		case got == '{':
			d.moderationPart()
		default:
			d.mixedInput("input", wantModerationInput)
		}
	}
	switch {
	case d.Err != nil:
	case count == 0:
		d.Problem("input", "input is an empty list. Send at least one string.")
	case count > maxInputs:
		d.Problem("input", "input has %d entries; at most %d are allowed in one request.", count, maxInputs)
	case kind == '"':
		d.req.Inputs = count
	}
}

// moderationPart decodes a text part or an image part.
func (d *decoder) moderationPart() {
	for key := range d.Members {
		switch string(key) {
		case "type":
		case "text":
			if d.Kind() == '"' {
				d.inputText()
			} else {
				d.SkipCounted()
			}
		case "image_url":
			d.req.Needs |= llm.Vision
			d.req.Images++
			d.image(d.Raw())
		default:
			d.RejectLookAlikes("input.", string(key), "type", "text", "image_url")
		}
	}
}
