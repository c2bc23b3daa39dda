package predict

import (
	"strings"
	"unicode"
)

// smallTalkEase is the ease of a greeting for every model, in logits relative to the prompts in the training data. The training data
// contains no greetings, because benchmarks consist of questions.
const smallTalkEase = 3

// easeOf returns smallTalkEase for a short prompt that starts with a greeting or thanks and has no numbers or code. For any
// other prompt it returns 0.
func easeOf(task Task, text string) float64 {
	const mostBytes, mostWords = 60, 6
	if task != Chat || len(text) > mostBytes || strings.ContainsAny(text, "0123456789=<>{}[]()/\\`\n") {
		return 0
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' })
	if len(words) == 0 || len(words) > mostWords {
		return 0
	}
	switch words[0] {
	case "hi", "hello", "hey", "thanks", "thank", "bye", "goodbye", "welcome", "ok", "okay", "hola", "gracias", "bonjour", "merci",
		"salut", "hallo", "danke", "servus", "ciao", "grazie", "olá", "oi", "obrigado", "obrigada", "hoi", "bedankt", "hej", "tack",
		"cześć", "dzięki", "привет", "спасибо", "здравствуйте", "merhaba", "teşekkürler", "नमस्ते", "धन्यवाद", "مرحبا", "شكرا",
		"שלום", "تشکر", "سلام", "안녕", "안녕하세요", "감사합니다", "你好", "您好", "谢谢", "謝謝", "こんにちは", "ありがとう", "สวัสดี", "xin", "halo":
		return smallTalkEase
	}
	return 0
}
