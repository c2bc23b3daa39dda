package conversation

import (
	"strings"
	"unicode"
)

const (
	longTurn       = 4 << 10 // bytes above which a turn consists of a document and an instruction
	maxInstruction = 900     // bytes of an instruction before or after a document
	minInstruction = 6       // letters of an instruction
)

// limit shortens a text to maxText bytes: its beginning, three quarters, and its end.
func limit(text string) string {
	if len(text) <= maxText {
		return text
	}
	return head(text, maxText/4*3) + "\n" + tail(text, maxText/4)
}

// instruction returns what a turn asks for. A long turn is usually a document with an instruction before or after it; its
// length says nothing about the difficulty. A turn without a recognisable instruction is returned whole.
func instruction(text string) string {
	if len(text) <= longTurn {
		return text
	}
	first, last := firstParagraph(text), lastParagraph(text)
	askedFirst, askedLast := instructs(first, true), instructs(last, false)
	switch {
	case askedFirst && askedLast && first != last:
		return first + "\n" + last
	case askedLast:
		return last
	case askedFirst:
		return first
	}
	return text
}

// firstParagraph returns the first paragraph, or the first line if the paragraph is long. It is empty if that is long too.
func firstParagraph(text string) string {
	paragraph, _, _ := strings.Cut(text, "\n\n")
	if len(paragraph) > maxInstruction {
		paragraph, _, _ = strings.Cut(text, "\n")
	}
	if len(paragraph) > maxInstruction {
		return ""
	}
	return strings.TrimSpace(paragraph)
}

// lastParagraph returns the last paragraph, or the last line if the paragraph is long. It is empty if that is long too.
func lastParagraph(text string) string {
	paragraph := text[strings.LastIndex(text, "\n\n")+1:]
	if len(paragraph) > maxInstruction {
		paragraph = text[strings.LastIndexByte(text, '\n')+1:]
	}
	if len(paragraph) > maxInstruction {
		return ""
	}
	return strings.TrimSpace(paragraph)
}

// orders are words that begin or are part of an instruction about a document.
var orders = set(`summarize summarise summary translate explain describe list find extract identify classify compare write rewrite fix correct review analyse analyze answer give
	tell what who when where why which how is are does did can could should please read using based according following below above text document question convert refactor implement check
	proofread improve create generate determine count name state return show
	fasse zusammen übersetze erkläre beschreibe nenne finde extrahiere vergleiche schreibe korrigiere prüfe beantworte welche welcher welches was wer wann wo warum wie bitte folgenden
	résume résumez traduis traduisez explique expliquez décris liste trouve extrais compare écris corrige réponds quel quelle quels qui quand où pourquoi comment suivant
	resume resumen traduce explica describe enumera encuentra extrae compara escribe corrige responde qué quién cuándo dónde cuál cómo siguiente
	riassumi traduci spiega descrivi elenca trova estrai confronta scrivi correggi rispondi chi cosa quando dove quale come seguente
	resuma traduza explique descreva liste encontre extraia compare escreva corrija responda quem qual quando onde como seguinte
	samenvat vertaal leg beschrijf noem vind wie wat waar welke sammanfatta översätt vad vem var streść przetłumacz wyjaśnij opisz znajdź kto co gdzie kiedy jaki jak
	кратко переведи переведите объясни объясните опиши найди найдите назови перечисли кто что когда где какой какая какие почему как сколько
	özetle çevir açıkla bul listele kim ne nerede hangi nasıl ringkas terjemahkan jelaskan sebutkan siapa apa kapan mana tóm dịch giải ai gì đâu
	सारांश अनुवाद बताओ बताइए कौन क्या कब कहाँ कैसे لخص ترجم اشرح اذكر من ما متى أين كيف 요약 번역 설명 누가 무엇 언제 어디 누구 어떻게`)

var orderPhrases = []string{"总结", "翻译", "解释", "概括", "请", "根据", "什么", "谁", "哪", "多少", "吗", "要約", "翻訳", "説明", "ください", "何", "誰", "どこ", "いつ", "ですか", "สรุป", "แปล", "อะไร", "ใคร", "요약", "번역"}

// instructs reports whether a paragraph looks like an instruction or a question. opening is true for the first paragraph,
// which has to introduce the document or ask; documents begin with headings and sentences too.
func instructs(paragraph string, opening bool) bool {
	letters := 0
	for _, r := range paragraph {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	if letters < minInstruction {
		return false
	}
	if strings.ContainsAny(lastRunes(paragraph), "?？؟") {
		return true
	}
	lower := strings.ToLower(paragraph)
	if opening {
		sentence, _, _ := strings.Cut(lower, ". ")
		for word := range wordsOf(sentence) { // the first word decides: an imperative or a question
			return orders[word] || polite[word] || hasPrefixAny(lower, orderPhrases) || strings.HasSuffix(paragraph, ":") || strings.HasSuffix(paragraph, "：")
		}
		return false
	}
	for word := range wordsOf(head(lower, 160)) {
		if orders[word] {
			return true
		}
	}
	return !isASCII(lower) && containsAny(lower, orderPhrases)
}

// lastRunes returns the end of a text without closing quotation marks and brackets.
func lastRunes(text string) string { return tail(strings.TrimRight(text, " \n\"'”’)*_`"), 3) }
