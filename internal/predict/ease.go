package predict

import (
	"strings"
	"unicode"
)

// smallTalk is how much easier than the prompts that were learned from a greeting or a word of thanks is, for every model
// alike, on the scale of logits. Nothing was learned of such prompts: benchmarks ask questions.
const smallTalk = 3

// courtesies are words that begin what needs no model in particular.
var courtesies = map[string]bool{
	"hi": true, "hello": true, "hey": true, "thanks": true, "thank": true, "bye": true, "goodbye": true, "welcome": true, "ok": true, "okay": true,
	"hola": true, "gracias": true, "bonjour": true, "merci": true, "salut": true, "hallo": true, "danke": true, "servus": true, "ciao": true,
	"grazie": true, "olá": true, "oi": true, "obrigado": true, "obrigada": true, "hoi": true, "bedankt": true, "hej": true, "tack": true,
	"cześć": true, "dzięki": true, "привет": true, "спасибо": true, "здравствуйте": true, "merhaba": true, "teşekkürler": true, "नमस्ते": true,
	"धन्यवाद": true, "مرحبا": true, "شكرا": true, "שלום": true, "تشکر": true, "سلام": true, "안녕": true, "안녕하세요": true, "감사합니다": true,
	"你好": true, "您好": true, "谢谢": true, "謝謝": true, "こんにちは": true, "ありがとう": true, "สวัสดี": true, "xin": true, "halo": true,
}

// easeOf is the ease of a prompt. Only what is short and begins with a courtesy counts, and nothing that has a number, a
// sign of code or more to say.
func easeOf(task Task, text string) float64 {
	const mostBytes, mostWords = 60, 6
	if task != Chat || len(text) > mostBytes || strings.ContainsAny(text, "0123456789=<>{}[]()/\\`\n") {
		return 0
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' })
	if len(words) == 0 || len(words) > mostWords || !courtesies[words[0]] {
		return 0
	}
	return smallTalk
}
