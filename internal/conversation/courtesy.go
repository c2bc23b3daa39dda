package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// greetings are words that open a message without being part of the task.
var greetings = set(`hi hello hey hiya howdy greetings dear hallo servus moin grüezi tag guten morgen abend bonjour bonsoir salut coucou hola buenas buenos días tardes noches
	ciao salve buongiorno buonasera olá ola oi bom boa dia tarde noite hoi goedendag goedemorgen dag hej hejsan tjena god dag hei moi terve cześć czesc witam dzień dobry
	привет здравствуйте здравствуй добрый день вечер утро привіт ahoj dobrý den zdravím merhaba selam günaydın halo hai selamat pagi siang xin chào szia sziasztok
	salam sawubona jambo namaste नमस्ते नमस्कार हैलो مرحبا مرحبًا مرحباً أهلا أهلاً السلام عليكم سلام שלום שלוםרב γεια γειά σας καλημέρα 안녕 안녕하세요 anyoung
	morning afternoon evening good day`)

// polite are words of thanks and requests. A clause of greetings and polite words alone is not part of the task.
var polite = set(`please kindly thanks thank thx ty cheers appreciated appreciate grateful regards sincerely bitte danke dankeschön vielen dank besten herzlichen grüße
	merci s'il vous plaît svp cordialement gracias por favor saludos grazie per favore cortesia saluti obrigado obrigada por favor abraços bedankt alsjeblieft alstublieft
	dank tack snälla takk tak venligst kiitos dziękuję dzięki proszę pozdrawiam спасибо пожалуйста заранее благодарю дякую děkuji prosím díky teşekkürler teşekkür lütfen
	terima kasih tolong makasih cảm ơn vui lòng köszönöm kérem mulțumesc vă rog ευχαριστώ παρακαλώ धन्यवाद शुक्रिया कृपया شكرا شكرًا شكراً فضلك لطفا رجاء תודה בבקשה 감사합니다 고맙습니다 부탁드립니다
	부탁해요 부탁합니다 asante`)

// fillers are words that occur in polite clauses but carry no meaning of their own.
var fillers = set(`a an the and in to for your you so very much many lot lots advance again help helping me with this that there all everyone everybody team folks
	friend sir madam could can would will i i'd would like need some my question have task one quick is are be it kind best really
	im voraus mir hilf helfen dabei damit ihnen dir ich brauche eine frage euch zusammen schon schöne freundlichen mit
	beaucoup d'avance pour votre ton aide moi aidez aide-moi avec ceci cela je une question tout le monde à tous
	muchas muchísimas de antemano ayuda ayúdame ayúdeme con esto tu su una pregunta a todos
	mille molte in anticipo aiutami aiuto con questo per l'aiuto muito muita desde já pela ajuda me ajude com isso
	bij voorbaat help mee hiermee vast på förhand hjälp mig bardzo góry z za pomoc pomóż mi w tym pomocy
	за помощь помогите помоги мне с этим большое вам очень şimdiden yardım için bana eder misiniz ederim çok sebelumnya bantu saya banyak
	bạn rất nhiều trước giúp tôi với लिए बहुत मदद कीजिए करें मेरी में के من لك جزيلا مقدما ساعدني في هذا على مساعدتك مسبقًا
	도와주세요 미리 이것 좀 정말`)

// politePhrases are polite phrases of languages that are written without spaces, the longest first.
var politePhrases = []string{
	"お世話になっております", "お忙しいところ恐れ入りますが", "よろしくお願いいたします", "よろしくお願い致します", "どうぞよろしくお願いします", "よろしくお願いします", "ありがとうございます", "お願いいたします",
	"おはようございます", "こんにちは", "こんばんは", "はじめまして", "すみませんが", "すみません", "恐れ入りますが", "ありがとう", "どうも", "お願いします",
	"请帮我一个忙", "请帮个忙", "麻烦您帮我", "麻烦帮我", "麻烦您了", "麻烦你了", "非常感谢", "十分感谢", "提前感谢", "多谢了", "感谢您", "谢谢您", "谢谢你", "謝謝您", "謝謝你", "早上好", "下午好", "晚上好",
	"您好", "你好", "大家好", "谢谢", "謝謝", "感谢", "多谢", "拜托了", "拜托", "麻烦", "请问", "請問", "嗨", "哈喽", "先", "啦", "了", "啊",
	"สวัสดีครับ", "สวัสดีค่ะ", "สวัสดี", "ขอบคุณมาก", "ขอบคุณครับ", "ขอบคุณค่ะ", "ขอบคุณ", "ช่วยหน่อย", "กรุณา", "ครับ", "ค่ะ",
}

const (
	politeClause  = 90 // bytes of a clause that may be polite
	politeClauses = 3  // clauses removed at each end
)

// withoutCourtesy removes greetings, thanks and polite clauses at both ends of a text, and white space that has no
// meaning. A text that consists of them alone is returned as it is.
func withoutCourtesy(text string) string {
	text = squeeze(text)
	if len(text) <= politeClause && isPolite(strings.TrimRight(text, clauseEnds)) {
		return text
	}
	rest := text
	for range politeClauses {
		clause, after := firstClause(rest)
		if clause == "" || !isPolite(clause) {
			break
		}
		rest = strings.TrimLeftFunc(after, isFiller)
	}
	for range 2 {
		word, after, _ := strings.Cut(rest, " ")
		if lower := strings.ToLower(word); !greetings[lower] && !polite[lower] || after == "" {
			break
		}
		rest = strings.TrimLeftFunc(after, isFiller)
	}
	for range politeClauses {
		before, clause := lastClause(rest)
		if clause == "" || !isPolite(clause) {
			break
		}
		rest = strings.TrimRightFunc(before, unicode.IsSpace)
	}
	if rest == "" {
		return text
	}
	return rest
}

func isFiller(r rune) bool {
	return unicode.IsSpace(r) || r == '!' || r == ',' || r == ':' || r == '-' || r == '–'
}

// clauseEnds end a clause.
const clauseEnds = ".!?,:;。！？，：；、।؟،\n"

// firstClause splits a text after its first clause.
func firstClause(text string) (clause, rest string) {
	at := strings.IndexAny(head(text, politeClause), clauseEnds)
	if at < 0 {
		return "", text
	}
	_, size := utf8.DecodeRuneInString(text[at:])
	return text[:at], text[at+size:]
}

// lastClause splits a text before its last clause. The clause may end with punctuation.
func lastClause(text string) (rest, clause string) {
	end := strings.TrimRight(text, clauseEnds+" ")
	from := max(0, len(end)-politeClause)
	at := strings.LastIndexAny(end[from:], clauseEnds)
	if at < 0 {
		return text, ""
	}
	_, size := utf8.DecodeRuneInString(end[from+at:])
	return text[:from+at+size], end[from+at+size:]
}

// isPolite reports whether a clause consists of greetings, thanks and polite requests.
func isPolite(clause string) bool {
	clause = strings.TrimSpace(clause)
	if clause == "" || len(clause) > politeClause {
		return false
	}
	found := false
	if !isASCII(clause) {
		for _, phrase := range politePhrases {
			if strings.Contains(clause, phrase) {
				clause, found = strings.ReplaceAll(clause, phrase, " "), true
			}
		}
	}
	count := 0
	for word := range wordsOf(clause) {
		count++
		switch {
		case greetings[word], polite[word]:
			found = true
		case !fillers[word]:
			return false
		}
	}
	return found && count <= 10
}

// squeeze trims a text and its lines, and reduces blank lines to one. Indentation is kept, because it matters in code.
func squeeze(text string) string {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "\n\n\n") && !strings.Contains(text, " \n") && !strings.Contains(text, "\r") {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	blank := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" {
			blank++
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n"[:min(2, blank+1)])
		}
		blank = 0
		out.WriteString(line)
	}
	return out.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordsOf yields the words of a text in lower case, without punctuation.
func wordsOf(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' && r != '-'
		}) {
			word = strings.ToLower(strings.Trim(word, "'’-"))
			if word != "" && !yield(word) {
				return
			}
		}
	}
}
