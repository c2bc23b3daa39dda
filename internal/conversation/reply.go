package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxReply       = 4   // maximum number of words in a reply
	maxQuestion    = 3   // maximum number of words in a reply with a question mark, such as "and the rest?"
	maxAnswer      = 8   // maximum number of words in a reply to the model's question
	bytesPerWord   = 9   // bytes that count as one word in a script without spaces
	maxTurn        = 240 // length in bytes above which a turn is always a new task
	maxComplaint   = 160
	newTopicWithin = 80 // number of bytes at the beginning of a turn that are searched for phrases such as "another question"
	questionMarks  = "?？؟;"
)

// isReply reports whether a user turn, such as "yes, go ahead", continues the previous task. A reply is a short turn without
// code, quotes, numbers of several digits and, unless it is very short, a question; or a complaint about the result. answer is the end of the model's last response.
func isReply(turn, answer string) bool {
	lower := strings.ToLower(turn)
	switch {
	case len(turn) > maxTurn, endsTopic(lower):
		return false
	case isComplaint(lower):
		return true
	case strings.ContainsAny(turn, ":：\"“«「=`()/\\<>{}[]+*"):
		return false
	}
	words := 0
	for word := range wordsOf(turn) {
		if len(word) > 1 && strings.ContainsAny(word, "0123456789") {
			return false
		}
		if words++; isUnspaced(word) {
			words += (len(word) - 1) / bytesPerWord
		}
	}
	switch {
	case strings.ContainsAny(turn, "?？؟"):
		return words <= maxQuestion
	case asks(answer):
		return words <= maxAnswer
	}
	return words <= maxReply
}

// endsTopic reports whether a turn, in lower case, begins a new topic.
func endsTopic(lower string) bool { return turnPhrases.has(head(lower, newTopicWithin), newTopic) }

// isComplaint reports whether a turn, in lower case, states that the request was not fulfilled.
func isComplaint(lower string) bool {
	return len(lower) <= maxComplaint && turnPhrases.has(lower, complaint)
}

// isUnspaced reports whether text is in a script without spaces between words.
func isUnspaced(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// asks reports whether a model response ends with a question.
func asks(answer string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(answer, " \n*_)\"”’`"))
	return strings.ContainsRune(questionMarks, r) || strings.HasSuffix(strings.TrimRight(answer, " \n。"), "か")
}
