package predict

import (
	"strings"
	"unicode"
)

// smallTalkEase is how much easier a greeting is than the prompts of the training data, for every model, on the logit
// scale. The training data has no such prompts, because benchmarks ask questions.
const smallTalkEase = 3

// courtesies are words that start a prompt that any model can handle.
var courtesies = map[string]bool{
	"hi": true, "hello": true, "hey": true, "thanks": true, "thank": true, "bye": true, "goodbye": true, "welcome": true, "ok": true, "okay": true,
	"hola": true, "gracias": true, "bonjour": true, "merci": true, "salut": true, "hallo": true, "danke": true, "servus": true, "ciao": true,
	"grazie": true, "olá": true, "oi": true, "obrigado": true, "obrigada": true, "hoi": true, "bedankt": true, "hej": true, "tack": true,
	"cześć": true, "dzięki": true, "привет": true, "спасибо": true, "здравствуйте": true, "merhaba": true, "teşekkürler": true, "नमस्ते": true,
	"धन्यवाद": true, "مرحبا": true, "شكرا": true, "שלום": true, "تشکر": true, "سلام": true, "안녕": true, "안녕하세요": true, "감사합니다": true,
	"你好": true, "您好": true, "谢谢": true, "謝謝": true, "こんにちは": true, "ありがとう": true, "สวัสดี": true, "xin": true, "halo": true,
}

// easeOf returns the ease of a prompt. Only a short prompt that starts with a courtesy and has no number, code or
// further content is easy.
func easeOf(task Task, text string) float64 {
	const mostBytes, mostWords = 60, 6
	if task != Chat || len(text) > mostBytes || strings.ContainsAny(text, "0123456789=<>{}[]()/\\`\n") {
		return 0
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' })
	if len(words) == 0 || len(words) > mostWords || !courtesies[words[0]] {
		return 0
	}
	return smallTalkEase
}
