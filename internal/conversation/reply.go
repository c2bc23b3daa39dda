package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// relation describes how a user turn relates to the turns before it.
type relation uint8

const (
	newTask  relation = iota
	reply             // "yes, go ahead": the previous task continues unchanged
	followUp          // "now handle empty lists too": the turn adds to the previous task
)

const (
	maxReplyWords    = 8   // maximum number of words in a short reply
	answerWords      = 5   // maximum number of words in an answer to the model's question
	bareWords        = 3   // maximum number of words in a turn that cannot be a separate task
	maxFollowUp      = 240 // maximum length of a follow-up in bytes
	maxComplaint     = 160
	minScriptReply   = 24 // length in bytes above which text without spaces between words may have more than a few words
	leftOverAllowed  = 2  // maximum number of letters that may remain after the phrases of a reply are removed
	newTopicWithin   = 80 // number of bytes at the beginning of a turn that are searched for phrases such as "another question"
	questionMarks    = "?？؟;"
	quotesAndSymbols = "\"“«「='`()/\\<>{}[]+*"
)

// relationOf returns the relation of a turn to the turns before it. answer is the end of the model's last response.
func relationOf(turn, answer string) relation {
	if len(turn) > maxFollowUp {
		return newTask
	}
	lower := strings.ToLower(turn)
	if endsTopic(lower) {
		return newTask
	}
	words, known, first := 0, 0, ""
	for word := range wordsOf(lower) {
		if words++; words == 1 {
			first = word
		}
		if lexicon[word]&assent != 0 || strings.Trim(word, "0123456789") == "" || utf8.RuneCountInString(word) == 1 && word[0] < utf8.RuneSelf {
			known++
		}
	}
	switch {
	case words == 0:
		return reply
	case isPolite(strings.TrimRight(turn, clauseEnds+" ")) && !strings.ContainsAny(turn, "?？"):
		return newTask // a greeting or thanks is a separate task
	case words <= maxReplyWords && known == words:
		return reply
	case !isASCII(turn) && scriptReply(lower):
		return reply
	case isComplaint(lower):
		return reply
	case strings.ContainsAny(turn, questionMarks[:len(questionMarks)-1]) || strings.ContainsAny(turn, quotesAndSymbols):
		if lexicon[first]&connective != 0 && words <= answerWords {
			return reply
		}
	case words <= bareWords && len(turn) <= minScriptReply, words <= answerWords && asks(answer) && !unspaced(turn):
		return reply
	}
	if lexicon[first]&connective != 0 || hasPrefixAny(lower, scriptPhrases[connective]) {
		return followUp
	}
	return newTask
}

// endsTopic reports whether a turn, in lower case, begins a new topic.
func endsTopic(lower string) bool { return turnPhrases.has(head(lower, newTopicWithin), newTopic) }

// isComplaint reports whether a turn, in lower case, states that the request was not fulfilled.
func isComplaint(lower string) bool {
	return len(lower) <= maxComplaint && turnPhrases.has(lower, complaint)
}

// scriptReply reports whether text in a script without spaces consists of phrases of assent.
func scriptReply(lower string) bool {
	if len(lower) > 4*minScriptReply {
		return false
	}
	found := false
	for _, phrase := range scriptPhrases[assent] {
		if strings.Contains(lower, phrase) {
			lower, found = strings.ReplaceAll(lower, phrase, " "), true
		}
	}
	remaining := 0
	for _, r := range lower {
		if unicode.IsLetter(r) {
			remaining++
		}
	}
	return found && remaining <= leftOverAllowed
}

// unspaced reports whether text is in a script without spaces and longer than minScriptReply. The words of such text cannot be counted.
func unspaced(text string) bool {
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			return len(text) > minScriptReply
		}
	}
	return false
}

// asks reports whether a model response ends with a question.
func asks(answer string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(answer, " \n*_)\"”’`"))
	return strings.ContainsRune(questionMarks, r) || strings.HasSuffix(strings.TrimRight(answer, " \n。"), "か")
}

func hasPrefixAny(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if strings.HasPrefix(text, phrase) {
			return true
		}
	}
	return false
}
