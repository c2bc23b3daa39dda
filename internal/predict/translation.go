package predict

import "strings"

const (
	translationEase = 1.5 // ease of a translation between common languages, in logits
	translationHead = 160 // number of bytes at the start of the text that are searched for language names
	translationTail = 60  // number of bytes at the end of the text that are searched, because some prompts name the language there
)

// languageNames maps language names, in English and some other languages, to true for a common language and false for a rare one. A
// translation from or to a rare language is not easy.
var languageNames = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
	french german spanish italian portuguese dutch russian chinese mandarin japanese korean polish turkish czech swedish danish norwegian finnish greek
	hungarian romanian ukrainian slovak vietnamese indonesian
	français française allemand espagnol italien portugais anglais russe chinois japonais néerlandais
	deutsch deutsche französisch französische spanisch spanische italienisch italienische portugiesisch russisch chinesisch japanisch polnisch türkisch
	español francés alemán italiano portugués inglés ruso chino japonés
	português francês alemão espanhol inglês nederlands svenska polski
	русский немецкий французский испанский українську`) {
		names[name] = true
	}
	for name := range strings.FieldsSeq(`
	afrikaans albanian amharic arabic armenian assamese aymara azerbaijani bambara basque belarusian bengali bhojpuri bosnian breton bulgarian burmese cantonese catalan
	cebuano chichewa corsican croatian dhivehi dogri esperanto estonian ewe faroese fijian filipino frisian galician georgian guarani gujarati haitian hausa hawaiian
	hebrew hindi hmong icelandic igbo ilocano irish javanese kannada kazakh khmer kinyarwanda konkani kurdish kurmanji kyrgyz lao latin latvian limburgish lingala
	lithuanian luganda luxembourgish macedonian maithili malagasy malay malayalam maltese maori marathi mizo mongolian nepali occitan odia oromo pashto
	persian farsi punjabi quechua samoan sanskrit scots serbian sesotho shona sindhi sinhala slovenian somali sorani sundanese swahili swati tagalog tajik tamil
	tatar telugu thai tibetan tigrinya tongan tsonga tswana turkmen twi urdu uyghur uzbek welsh wolof xhosa yiddish yoruba zulu`) {
		names[name] = false
	}
	return names
}()

// easeOfTranslation returns the ease of a translation relative to other prompts. Models differ little for common languages and considerably
// if one of the languages is rare.
func easeOfTranslation(text, language string) float64 {
	common := false
	switch language {
	// The common languages other than English have at least 0.3 % of the pages of Common Crawl, so models of any size translate them
	// well. Arabic is missing because prompts also use its name for its dialects, which are rare.
	case "cs", "da", "de", "el", "es", "fi", "fr", "hu", "id", "it", "ja", "ko", "nl", "no", "pl", "pt", "ro", "ru", "sk", "sv", "tr", "uk", "vi", "zh":
		common = true
	}
	ends := text
	if len(text) > translationHead+translationTail {
		ends = text[:translationHead] + " " + text[len(text)-translationTail:]
	}
	for word := range strings.FieldsFuncSeq(strings.ToLower(ends), isSeparator) {
		many, named := languageNames[word]
		if named && !many {
			return 0
		}
		common = common || many
	}
	if !common {
		return 0
	}
	return translationEase
}
