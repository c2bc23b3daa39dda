package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// relation is how a user turn relates to the turns before it.
type relation uint8

const (
	newTask  relation = iota
	reply             // "yes, go ahead": the task before it continues unchanged
	followUp          // "now handle empty lists too": adds to the task before it
)

// replies are words of which short replies consist: agreement, going on, and references to earlier turns.
var replies = set(`yes y yep yeah yup ok okay k kk sure right correct exactly agreed fine good great perfect nice cool awesome lgtm looks sounds go ahead on continue proceed
	resume keep going carry start begin do it that this them these those one ones both all either first second third last next previous option options choice number part parts step
	steps section item point approach plan version variant alternative a b c d the please thanks thank you now then just let's lets let us and also too so of with for to same as
	again more rest remaining finish complete apply run try retry implement commit ship send confirm confirmed approve approved accept accepted done no nope not yet wait stop cancel
	undo revert back up is was be i me my want need would like can could will should yours your way works work well fix use take pick choose i'd i'll else
	ja jo jawohl klar gerne genau richtig gut super prima passt weiter mach machen mache tu das dies bitte los leg an fang fortfahren fortsetzen nochmal noch einmal den die der teil rest nächste
	nächster nächsten schritt erste zweite dritte letzte beide alle alles so nein ok auch jetzt fertig führe aus es
	oui ouais d'accord bien sûr parfait vas-y allez-y vas allez y continue continuez poursuis poursuivez fais fais-le faites faites-le le la les ça cela suivant suivante suite reste étape non maintenant
	aussi tout tous premier première deuxième termine encore c'est bon exact très
	sí si vale claro bueno bien perfecto adelante sigue siga continúa continua continúe procede hazlo hágalo haz eso esto lo la siguiente resto primera segunda opción parte paso ahora también todo no otra vez más de acuerdo
	termina dale listo correcto
	va bene certo perfetto procedi prosegui continua avanti fallo fai questo quello il prossimo resto passo parte opzione prima seconda tutto anche ora adesso no ancora esatto d'accordo giusto vai
	sim claro certo perfeito pode podes continuar continue continua prossiga seguir segue siga faça faz isso o a próximo próxima resto passo parte opção primeira segunda tudo também agora não mais está bom ótimo tá em frente vai
	ja prima goed oké ga door verder doe maar het dat volgende rest stap deel optie eerste tweede alles ook nu nee klaar graag
	ja okej fortsätt kör gör det nästa resten steg del bra nej gærne fortsæt fortsett kyllä jatka joo hyvä seuraava
	tak dobrze dobra jasne kontynuuj dalej zrób zrob to rób proszę następny reszta krok część opcja pierwsza druga wszystko też teraz nie śmiało
	да ага ок хорошо ладно верно точно конечно продолжай продолжайте продолжить дальше далее делай делайте сделай сделайте это давай давайте следующий следующая остальное шаг часть вариант первый второй вторую первую всё все тоже теперь нет ещё еще поехали вперёд выполняй
	так добре продовжуй роби далі ano dobře pokračuj dál udělej další igen rendben folytasd tovább da bine continuă
	evet tamam olur devam et edin yap yapın bunu onu sonraki kalan adım bölüm seçenek birinci ikinci hepsi de şimdi hayır lütfen
	ya iya baik oke lanjut lanjutkan teruskan lakukan itu ini berikutnya sisanya langkah bagian opsi pertama kedua semua juga sekarang tidak silakan
	vâng có được đồng ý tiếp tục đi làm nó cái đó phần còn lại bước tiếp theo lựa chọn thứ nhất hai tất cả không
	हाँ हां जी ठीक है अच्छा सही आगे बढ़ो बढ़ें बढ़िए जारी रखो रखें रखिए करो करें कर दो दीजिए वह यह इसे उसे अगला बाकी चरण भाग विकल्प पहला दूसरा सब भी अब नहीं कृपया चलो शुरू
	نعم أجل حسنا حسنًا تمام موافق صحيح تابع تابعي استمر أكمل أكملي واصل نفذ افعل ذلك هذا هذه التالي الباقي الخطوة الجزء الخيار الأول الثاني كل أيضا الآن لا من فضلك ابدأ تفضل هيا بله باشه ادامه بده
	כן בסדר המשך תמשיך קדימה עשה את זה הבא השאר ναι εντάξει συνέχισε προχώρα κάνε το
	네 예 응 좋아 좋아요 좋습니다 그래 그래요 알겠어 알겠습니다 계속 계속해 계속해줘 계속하세요 계속해주세요 진행 진행해 진행해줘 진행해주세요 진행하세요 해 해줘 해주세요 주세요 그렇게 그것 다음 나머지 단계 부분 옵션 첫번째 두번째 모두 이제 아니 아니요 시작해 부탁해 부탁해요`)

// replyPhrases are parts of short replies in languages that are written without spaces, the longest first.
var replyPhrases = []string{
	"続けてください", "進めてください", "お願いいたします", "お願いします", "やってください", "それでお願い", "続けて", "進めて", "大丈夫です", "わかりました", "了解です", "その通り", "それで", "いいですね", "いいです", "いいよ", "やって", "次へ", "次に", "残り", "もう一度",
	"はい", "ええ", "うん", "了解", "オーケー", "どうぞ", "ください", "です", "同じ", "それ", "これ", "次", "も", "を", "で",
	"请继续", "继续吧", "继续做", "继续", "繼續", "没问题", "沒問題", "可以的", "可以", "好的", "好吧", "好啊", "开始吧", "开始", "開始", "就这样", "这样", "没错", "对的", "是的", "行吧", "确认", "同意", "执行", "下一步", "下一个", "剩下的", "剩下", "其余", "接着",
	"做吧", "去做", "照做", "同样", "一样", "第二", "第一", "第三", "部分", "方案", "选项", "谢谢", "往下", "进行", "再来", "再试", "一次",
	"好", "行", "对", "是", "嗯", "做", "请", "吧", "的", "那", "就", "也", "个", "步", "按", "你", "说",
	"ทำต่อ", "ต่อไป", "ต่อเลย", "ได้เลย", "ตกลง", "โอเค", "ใช่", "เอาเลย", "ครับ", "ค่ะ", "เลย",
}

// connectives begin a turn that adds to the task before it.
var connectives = set(`and but also now then so instead plus next additionally furthermore moreover however
	und aber auch jetzt dann außerdem stattdessen et mais aussi maintenant puis ensuite y pero también ahora luego además e ma anche ora poi inoltre mas também agora depois
	en maar ook nu dan och men också i ale też teraz potem и но а также теперь потом ещё ve ama şimdi sonra dan tetapi juga lalu và nhưng cũng bây और लेकिन अब फिर و لكن ثم الآن
	그리고 하지만 이제 그럼 또`)

var connectivePhrases = []string{"然后", "还有", "但是", "另外", "现在", "再", "接下来", "それから", "でも", "また", "次に", "さらに", "じゃあ", "แล้ว", "และ", "แต่"}

// newTopics are phrases that end a topic.
var newTopics = newPhraseSet([]string{
	"leave that", "leave it", "forget that", "forget it", "forget about", "never mind", "nevermind", "different question", "another question", "other question", "new question", "new topic",
	"different topic", "something else", "something different", "something completely", "unrelated", "off topic", "off-topic", "by the way", "btw", "change of topic", "change the subject",
	"switching", "on another note", "on a different note", "aside from", "quick question", "set that aside", "put that aside", "park that", "drop that", "separate question", "instead of that", "skip that",
	"andere frage", "anderes thema", "neue frage", "neues thema", "etwas anderes", "was anderes", "lass das", "vergiss", "übrigens", "nebenbei", "ganz anderes",
	"autre question", "autre chose", "autre sujet", "nouvelle question", "laisse", "laissez", "oublie", "au fait", "changeons",
	"otra pregunta", "otra cosa", "otro tema", "nueva pregunta", "deja eso", "olvida", "olvídalo", "por cierto", "cambiando de tema",
	"altra domanda", "altra cosa", "altro argomento", "nuova domanda", "lascia", "lasciamo", "dimentica", "a proposito", "cambiamo",
	"outra pergunta", "outra coisa", "outro assunto", "nova pergunta", "deixa isso", "deixe isso", "esquece", "esqueça", "mudando de assunto", "a propósito",
	"andere vraag", "iets anders", "laat dat", "vergeet", "trouwens", "annan fråga", "något annat", "inne pytanie", "coś innego", "zostaw", "zapomnij", "swoją drogą",
	"другой вопрос", "другая тема", "другое", "новый вопрос", "оставь", "оставим", "забудь", "кстати", "отвлекаясь", "інше питання",
	"başka bir soru", "başka soru", "başka bir şey", "boş ver", "unut", "bu arada", "pertanyaan lain", "hal lain", "lupakan", "câu hỏi khác", "chuyện khác", "nhân tiện",
	"另一个问题", "换个话题", "换一个", "别的问题", "先不管", "先放", "不说这个", "顺便", "算了", "另外一个", "別の質問", "別件", "話は変わ", "ところで", "それは置いて", "その件は", "ちなみに", "다른 질문", "다른 이야기", "그건 됐고", "그건 나중에", "그런데", "참고로",
	"سؤال آخر", "موضوع آخر", "شيء آخر", "اترك", "دعك", "انس", "بالمناسبة", "दूसरा सवाल", "एक और सवाल", "कुछ और", "छोड़ो", "छोड़िए", "रहने दो", "वैसे", "שאלה אחרת", "คำถามอื่น", "เรื่องอื่น", "άλλη ερώτηση",
})

// complaints are phrases of a user whose request was not fulfilled.
var complaints = newPhraseSet([]string{
	"doesn't work", "does not work", "doesnt work", "not working", "still fail", "still broken", "still not", "still the same", "still wrong", "still get", "same error", "same problem", "didn't work", "did not work",
	"that's wrong", "that is wrong", "is wrong", "incorrect", "not what i asked", "not what i wanted", "try again", "you didn't", "you did not", "understand your input",
	"geht nicht", "funktioniert nicht", "immer noch nicht", "falsch", "stimmt nicht", "gleiche fehler", "gleicher fehler", "ne marche pas", "marche toujours pas", "ne fonctionne pas", "toujours pas", "même erreur",
	"no funciona", "sigue sin", "mismo error", "está mal", "es incorrect", "não funciona", "ainda não", "mesmo erro", "está errado", "non funziona", "ancora non", "stesso errore", "sbagliat",
	"werkt niet", "nog steeds niet", "fungerar inte", "nie działa", "nadal nie", "ten sam błąd", "не работает", "всё ещё", "все еще", "та же ошибка", "неправильно", "неверно", "çalışmıyor", "hâlâ", "aynı hata", "yanlış",
	"tidak berfungsi", "masih", "salah", "không hoạt động", "vẫn", "还是不行", "不行", "不对", "错了", "还是报错", "没用", "動きません", "動かない", "うまくいきません", "違います", "同じエラー", "まだ", "안 돼", "안돼", "안됩니다", "작동하지", "틀렸", "같은 오류",
	"لا يعمل", "ما زال", "نفس الخطأ", "خاطئ", "काम नहीं", "गलत", "वही त्रुटि", "אותה שגיאה", "לא עובד",
})

const (
	maxReplyWords    = 8   // maximum number of words in a short reply
	answerWords      = 5   // maximum number of words in an answer to the model's question
	bareWords        = 3   // maximum number of words in a turn that cannot be a separate task
	maxFollowUp      = 240 // maximum length of a follow-up in bytes
	maxComplaint     = 160
	minScriptReply   = 24 // bytes of a reply in a script without spaces
	leftOverAllowed  = 2  // characters that may remain of a reply after removing its phrases
	newTopicWithin   = 80 // bytes of the beginning in which a topic is ended
	questionMarks    = "?？؟;"
	quotesAndSymbols = "\"“«「='`()/\\<>{}[]+*"
)

// relationOf returns how a turn relates to the turns before it. answer is the end of the model's last answer.
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
		if replies[word] || isNumber(word) || utf8.RuneCountInString(word) == 1 && word[0] < utf8.RuneSelf {
			known++
		}
	}
	switch {
	case words == 0:
		return reply
	case isSmallTalk(turn):
		return newTask
	case words <= maxReplyWords && known == words:
		return reply
	case !isASCII(turn) && scriptReply(lower):
		return reply
	case isComplaint(lower):
		return reply
	case strings.ContainsAny(turn, questionMarks[:len(questionMarks)-1]) || strings.ContainsAny(turn, quotesAndSymbols):
		if connectives[first] && words <= answerWords {
			return reply
		}
	case words <= bareWords && len(turn) <= minScriptReply, words <= answerWords && asks(answer) && !unspaced(turn):
		return reply
	}
	if connectives[first] || hasPrefixAny(lower, connectivePhrases) {
		return followUp
	}
	return newTask
}

// endsTopic reports whether a turn in lower case leaves the topic of the turns before it.
func endsTopic(lower string) bool { return newTopics.in(head(lower, newTopicWithin)) }

// isSmallTalk reports whether a turn consists of greetings and thanks. It is read as it is.
func isSmallTalk(turn string) bool {
	return isPolite(strings.TrimRight(turn, clauseEnds+" ")) && !strings.ContainsAny(turn, "?？")
}

// isComplaint reports whether a turn in lower case says that the request was not fulfilled.
func isComplaint(lower string) bool {
	return len(lower) <= maxComplaint && complaints.in(lower)
}

// scriptReply reports whether a text in a script without spaces consists of phrases of replies.
func scriptReply(lower string) bool {
	if len(lower) > 4*minScriptReply {
		return false
	}
	found := false
	for _, phrase := range replyPhrases {
		if strings.Contains(lower, phrase) {
			lower, found = strings.ReplaceAll(lower, phrase, " "), true
		}
	}
	left := 0
	for _, r := range lower {
		if unicode.IsLetter(r) {
			left++
		}
	}
	return found && left <= leftOverAllowed
}

// unspaced reports whether a text is in a script without spaces, so that its words cannot be counted.
func unspaced(text string) bool {
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			return len(text) > minScriptReply
		}
	}
	return false
}

// asks reports whether an answer of the model ends with a question.
func asks(answer string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(answer, " \n*_)\"”’`"))
	return strings.ContainsRune(questionMarks, r) || strings.HasSuffix(strings.TrimRight(answer, " \n。"), "か")
}

func isNumber(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}
	return true
}

func containsAny(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

func hasPrefixAny(text string, phrases []string) bool {
	for _, phrase := range phrases {
		if strings.HasPrefix(text, phrase) {
			return true
		}
	}
	return false
}

// isUnspacedScript reports whether a word is in a script without spaces, or one that attaches particles to words.
func isUnspacedScript(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul, unicode.Arabic, unicode.Hebrew)
}

// startsWord reports whether a word starts at an offset of a text.
func startsWord(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return at == 0 || !unicode.IsLetter(r) && !unicode.IsMark(r)
}

// endsWord reports whether a word ends at an offset of a text.
func endsWord(text string, at int) bool {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return at == len(text) || !unicode.IsLetter(r) && !unicode.IsMark(r)
}
