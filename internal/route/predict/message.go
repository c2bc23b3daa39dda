package predict

import (
	"unicode/utf8"

	"fairlead.dev/internal/llm"
)

// message is a message of the conversation with its text.
type message struct {
	*llm.Message
	isResult bool // whether the message contains tool results
	decoded  bool // whether text and length are set
	cleaned  bool // whether turn is set

	text   string // cached result of readText
	length int    // length in bytes of the whole text
	turn   turn   // cached result of readTurn
}

func newMessage(m *llm.Message) message {
	one := message{Message: m}
	for i := range m.Parts {
		one.isResult = one.isResult || m.Parts[i].Kind == llm.ResultPart
	}
	return one
}

// maxText is the approximate maximum number of bytes of a message's text that are read.
const maxText = 16 << 10

// readText returns the text of a message, without tool calls and tool results.
func (m *message) readText() string {
	if !m.decoded {
		m.decoded, m.text = true, partsText(m.Parts, maxText)
		for i := range m.Parts {
			m.length += len(m.Parts[i].Text)
		}
	}
	return m.text
}

// readTurn returns the part of a message that the user wrote, without text that clients add.
func (m *message) readTurn() turn {
	if !m.cleaned {
		m.cleaned, m.turn = true, readTurn(m.readText())
		m.turn.document += max(0, m.length-2*maxText) // text that was not read
	}
	return m.turn
}

// partsText returns the text of parts. limit is the approximate maximum number of bytes to return.
func partsText(parts []llm.Part, limit int) string {
	text := ""
	for i := range parts {
		if parts[i].Kind != llm.TextPart || len(text) >= limit {
			continue
		}
		if one := shorten(parts[i].Text, limit-len(text)); text == "" {
			text = one
		} else {
			text += "\n" + one
		}
	}
	return text
}

// shorten truncates a text longer than limit bytes in the middle: the result consists of its beginning (three quarters of the limit) and its
// end.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	begin := limit / 4 * 3
	return head(text, begin) + "\n" + tail(text, limit-begin)
}

// head returns at most n bytes from the beginning of text and never splits a rune.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// tail returns at most n bytes from the end of text and never splits a rune.
func tail(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
