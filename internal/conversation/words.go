package conversation

import (
	_ "embed" // needed for words.txt
	"strings"
)

// wordUse is a set of roles that a word can have in a turn.
type wordUse uint16

const (
	greeting   wordUse = 1 << iota // word that begins a message and is not part of the task
	polite                         // thanks or a polite request; a clause with only greetings and polite words is not part of the task
	filler                         // polite filler without information about the task
	assent                         // part of a short reply, such as agreement, "continue" or a reference to earlier turns
	connective                     // word that begins a turn which adds to the previous task
	order                          // word that begins or is part of an instruction about a document
	probe                          // word that clients send to test a connection
	appeal                         // word in a request for help or good wishes; a clause with only appeals and fillers is not part of the task
	common                         // word that occurs in polite clauses and elsewhere
	opener                         // greeting that a name may follow
)

//go:embed words.txt
var wordList string

// lexicon maps single words in lower case to their uses.
var lexicon = func() map[string]wordUse {
	uses := map[string]wordUse{
		"greeting": greeting, "polite": polite, "filler": filler, "assent": assent, "connective": connective, "order": order, "probe": probe,
		"appeal": appeal, "common": common, "opener": opener,
	}
	words := map[string]wordUse{}
	for line := range strings.Lines(wordList) {
		use, list, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(list) {
			words[word] |= uses[use]
		}
	}
	return words
}()

// scriptPhrases lists phrases by use, in languages that are written without spaces. The polite phrases are ordered longest first,
// because they are removed from a clause in this order.
var scriptPhrases = map[wordUse][]string{
	polite: {
		"ขอความช่วยเหลือ", "お忙しいところ恐れ入りますが", "どうぞよろしくお願いします", "よろしくお願いいたします", "ช่วยฉันหน่อย", "お世話になっております", "よろしくお願い致します",
		"手伝っていただけますか", "お手伝いいただけますか", "お手数をおかけしますが", "宜しくお願いいたします", "ちょっと教えてください", "よろしくお願いします", "ありがとうございます", "教えていただけますか",
		"手伝ってもらえますか", "申し訳ございませんが", "ขอถามหน่อย", "สวัสดีครับ", "ขอบคุณครับ", "おはようございます", "请问您能帮我一下吗", "お待ちしております",
		"宜しくお願いします", "申し訳ありませんが", "สวัสดีค่ะ", "ขอบคุณมาก", "ขอบคุณค่ะ", "ช่วยหน่อย", "お願いいたします", "非常感谢您的帮助", "手伝ってください",
		"お待ちしています", "ช่วยด้วย", "ล่วงหน้า", "恐れ入りますが", "您能帮我一下吗", "你能帮我一下吗", "質問があります", "助けてください", "お忙しいところ", "มีคำถาม",
		"教えてください", "はじめまして", "すみませんが", "お願いします", "请帮我一个忙", "能帮我一下吗", "我想请教一下", "我有一个问题", "感谢您的帮助", "期待您的回复", "期待你的回复",
		"等待您的回复", "祝您生活愉快", "祝你生活愉快", "お手数ですが", "お疲れ様です", "สวัสดี", "ขอบคุณ", "想请你帮个忙", "帮忙解答一下", "ございました", "こんにちは", "こんばんは",
		"すみません", "ありがとう", "麻烦您帮我", "能不能帮我", "帮我看一下", "我想问一下", "我有个问题", "有一个问题", "下面的问题", "質問がある", "ひとつ質問", "以下の質問", "ございます",
		"กรุณา", "请你帮个忙", "解答一下", "感激不尽", "请帮个忙", "麻烦帮我", "ちょっと", "麻烦您了", "麻烦你了", "非常感谢", "十分感谢", "提前感谢", "你能帮我", "您能帮我",
		"可以帮我", "请帮帮我", "帮我看看", "帮我解决", "我想请教", "请教一下", "想问一下", "有个问题", "一个问题", "这个问题", "以下问题", "您的帮助", "你的帮助", "您的时间",
		"你的时间", "您的耐心", "期待回复", "祝您愉快", "祝你愉快", "一切顺利", "不好意思", "打扰一下", "質問です", "手伝って", "次の質問", "ครับ", "ました", "辛苦了", "你好呀",
		"您好呀", "どうか", "どうも", "多谢了", "感谢您", "谢谢您", "谢谢你", "謝謝您", "謝謝你", "早上好", "下午好", "晚上好", "大家好", "拜托了", "帮帮我", "请帮我",
		"帮个忙", "想请教", "打扰了", "助けて", "ご協力", "ご回答", "ご返信", "お返事", "本当に", "どうぞ", "こちら", "ค่ะ", "的时间", "的帮助", "的耐心", "看一下", "解决",
		"下面", "问题", "帮忙", "您好", "你好", "谢谢", "謝謝", "感谢", "多谢", "拜托", "麻烦", "请问", "請問", "哈喽", "帮我", "祝您", "祝你", "打扰", "抱歉",
		"誠に", "大変", "看看", "您", "呀", "嗨", "先", "啦", "了", "啊", "吗", "ね", "、", "看", "请",
	},
	assent: {
		"続けてください", "進めてください", "お願いいたします", "お願いします", "やってください", "それでお願い", "続けて", "進めて", "大丈夫です", "わかりました", "了解です", "その通り", "それで", "いいですね", "いいです", "いいよ", "やって", "次へ", "次に", "残り", "もう一度",
		"はい", "ええ", "うん", "了解", "オーケー", "どうぞ", "ください", "です", "同じ", "それ", "これ", "次", "も", "を", "で",
		"请继续", "继续吧", "继续做", "继续", "繼續", "没问题", "沒問題", "可以的", "可以", "好的", "好吧", "好啊", "开始吧", "开始", "開始", "就这样", "这样", "没错", "对的", "是的", "行吧", "确认", "同意", "执行", "下一步", "下一个", "剩下的", "剩下", "其余", "接着",
		"做吧", "去做", "照做", "同样", "一样", "第二", "第一", "第三", "部分", "方案", "选项", "谢谢", "往下", "进行", "再来", "再试", "一次",
		"好", "行", "对", "是", "嗯", "做", "请", "吧", "的", "那", "就", "也", "个", "步", "按", "你", "说",
		"ทำต่อ", "ต่อไป", "ต่อเลย", "ได้เลย", "ตกลง", "โอเค", "ใช่", "เอาเลย", "ครับ", "ค่ะ", "เลย",
	},
	connective: {"然后", "还有", "但是", "另外", "现在", "再", "接下来", "それから", "でも", "また", "次に", "さらに", "じゃあ", "แล้ว", "และ", "แต่"},
	order:      {"总结", "翻译", "解释", "概括", "请", "根据", "什么", "谁", "哪", "多少", "吗", "要約", "翻訳", "説明", "ください", "何", "誰", "どこ", "いつ", "ですか", "สรุป", "แปล", "อะไร", "ใคร", "요약", "번역"},
}

// Indexes of the lists in turnPhrases.
const (
	newTopic   = iota // phrases that begin a new topic
	complaint         // phrases that state that the request was not fulfilled
	pleasantry        // phrases that turn a clause of fillers into a polite clause
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
	pleasantry: {
		"a question", "my question", "quick question", "one question", "two questions", "some questions", "few questions", "questions for you", "question for you", "simple question", "short question", "ask you", "ask something", "quick look", "small request", "as follows", "something to ask", "a lot to me", "the world to me", "silly question", "stupid question", "dumb question", "basic question", "zeit für mich", "best wishes", "i ask", "a favor", "a favour",
		"let me know", "what you think", "take your time", "take a look", "have a look", "taking a look", "nice day", "great day", "good day", "wonderful day", "lovely day", "nice evening", "great evening", "good evening", "nice weekend", "great weekend", "good weekend", "great week", "nice week", "make sense", "makes sense", "you're the best", "you are the best", "a star", "a lifesaver", "to meet you", "hearing from you",
		"if possible", "if you can", "if you could", "you have a moment", "you have a minute", "you have time", "your time", "in advance", "that's all", "that is all", "here's my", "here is my", "the following problem", "the problem below", "a problem", "so kind", "a hand", "you rock", "bless you", "all the best", "good one", "your expertise", "reach out", "reaching out", "contacting you", "tell me the answer", "the answer to this", "would be great", "would be awesome", "would be nice", "would be wonderful", "would be amazing", "that's okay", "that is okay",
		"eine frage", "kurze frage", "liebe assist", "lieber assist", "alles gute", "bis bald", "folgende frage", "einen schönen", "schönen tag", "schönes wochenende", "auf deine antwort", "auf ihre antwort", "geht ihnen gut", "geht dir gut", "und herren", "im voraus", "wenn möglich", "dankbar",
		"une question", "petite question", "un coup de main", "questions suivantes", "vous allez bien", "tu vas bien", "bonne journée", "bonne soirée", "votre réponse", "ta réponse", "par avance", "s'il te", "si possible",
		"una pregunta", "qué tal", "una mano", "una duda", "una consulta", "unas preguntas", "buen día", "buena tarde", "estés bien", "esté bien", "estén bien", "su respuesta", "tu respuesta", "de antemano", "si es posible",
		"una domanda", "un dubbio", "alcune domande", "buona giornata", "buona serata", "stia bene", "tua risposta", "sua risposta", "in anticipo", "uma pergunta", "uma questão", "uma mão", "uma dúvida", "tudo bem", "bom dia", "boa tarde", "boa noite", "esteja bem", "sua resposta", "desde já",
		"een vraag", "fijne dag", "prettige dag", "goed gaat", "bij voorbaat", "en fråga", "ha en bra", "et spørsmål", "et spørgsmål", "mam pytanie", "miłego dnia", "z góry", "есть вопрос", "вопрос", "хорошего дня", "доброго дня", "приятного дня", "всё хорошо", "ваш ответ",
		"sorum var", "bir soru", "yi günler", "yi geceler", "ada pertanyaan", "satu pertanyaan", "hari baik", "một câu hỏi", "ngày tốt lành", "एक सवाल", "एक प्रश्न", "शुभ दिन", "لدي سؤال", "عندي سؤال", "يوم سعيد", "يوما سعيدا", "질문이 있", "질문 있", "질문 하나", "좋은 하루", "시간 내주",
	},
})
