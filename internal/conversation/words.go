package conversation

import _ "embed" // needed for words.txt

//go:embed words.txt
var orderWords string

// orders contains words in lower case that begin or are part of an instruction about a document, in many languages.
var orders = set(orderWords)

// probes are words that clients send to test a connection.
var probes = set("quota test testing ping pong count probe healthcheck health warmup")

// scriptOrders are instruction words in languages that are written without spaces.
var scriptOrders = []string{"总结", "翻译", "解释", "概括", "请", "根据", "什么", "谁", "哪", "多少", "吗", "要約", "翻訳", "説明", "ください", "何", "誰", "どこ", "いつ", "ですか", "สรุป", "แปล", "อะไร", "ใคร", "요약", "번역"}

// Indexes of the lists in turnPhrases.
const (
	newTopic  = iota // phrases that begin a new topic
	complaint        // phrases that state that the request was not fulfilled
)

// turnPhrases are multi-word phrases that indicate how a turn relates to earlier turns.
var turnPhrases = newPhraseSet([][]string{
	newTopic: {
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
	},
	complaint: {
		"doesn't work", "does not work", "doesnt work", "not working", "still fail", "still broken", "still not", "still the same", "still wrong", "still get", "same error", "same problem", "didn't work", "did not work",
		"that's wrong", "that is wrong", "is wrong", "incorrect", "not what i asked", "not what i wanted", "try again", "you didn't", "you did not", "understand your input",
		"geht nicht", "funktioniert nicht", "immer noch nicht", "falsch", "stimmt nicht", "gleiche fehler", "gleicher fehler", "ne marche pas", "marche toujours pas", "ne fonctionne pas", "toujours pas", "même erreur",
		"no funciona", "sigue sin", "mismo error", "está mal", "es incorrect", "não funciona", "ainda não", "mesmo erro", "está errado", "non funziona", "ancora non", "stesso errore", "sbagliat",
		"werkt niet", "nog steeds niet", "fungerar inte", "nie działa", "nadal nie", "ten sam błąd", "не работает", "всё ещё", "все еще", "та же ошибка", "неправильно", "неверно", "çalışmıyor", "hâlâ", "aynı hata", "yanlış",
		"tidak berfungsi", "masih", "salah", "không hoạt động", "vẫn", "还是不行", "不行", "不对", "错了", "还是报错", "没用", "動きません", "動かない", "うまくいきません", "違います", "同じエラー", "まだ", "안 돼", "안돼", "안됩니다", "작동하지", "틀렸", "같은 오류",
		"لا يعمل", "ما زال", "نفس الخطأ", "خاطئ", "काम नहीं", "गलत", "वही त्रुटि", "אותה שגיאה", "לא עובד",
	},
})
