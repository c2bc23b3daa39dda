package conversation

import "strings"

// wordUse is a set of the ways in which a word can affect how a turn is read.
type wordUse uint8

const (
	greeting   wordUse = 1 << iota // opens a message without being part of the task
	polite                         // thanks or a request; a clause of greetings and polite words alone is not part of the task
	filler                         // occurs in polite clauses but carries no meaning of its own
	assent                         // part of a short reply: agreement, going on, a reference to earlier turns
	connective                     // begins a turn that adds to the task before it
	order                          // begins or is part of an instruction about a document
	probe                          // sent by clients to test a connection
)

// lexicon holds the words that are looked up one by one, in lower case, with their uses.
var lexicon = func() map[string]wordUse {
	words := map[string]wordUse{}
	for use, list := range map[wordUse]string{
		greeting: `hi hello hey hiya howdy greetings dear hallo servus moin grüezi tag guten morgen abend bonjour bonsoir salut coucou hola buenas buenos días tardes noches
	ciao salve buongiorno buonasera olá ola oi bom boa dia tarde noite hoi goedendag goedemorgen dag hej hejsan tjena god dag hei moi terve cześć czesc witam dzień dobry
	привет здравствуйте здравствуй добрый день вечер утро привіт ahoj dobrý den zdravím merhaba selam günaydın halo hai selamat pagi siang xin chào szia sziasztok
	salam sawubona jambo namaste नमस्ते नमस्कार हैलो مرحبا مرحبًا مرحباً أهلا أهلاً السلام عليكم سلام שלום שלוםרב γεια γειά σας καλημέρα 안녕 안녕하세요 anyoung
	morning afternoon evening good day`,
		polite: `please kindly thanks thank thx ty cheers appreciated appreciate grateful regards sincerely bitte danke dankeschön vielen dank besten herzlichen grüße
	merci s'il vous plaît svp cordialement gracias por favor saludos grazie per favore cortesia saluti obrigado obrigada por favor abraços bedankt alsjeblieft alstublieft
	dank tack snälla takk tak venligst kiitos dziękuję dzięki proszę pozdrawiam спасибо пожалуйста заранее благодарю дякую děkuji prosím díky teşekkürler teşekkür lütfen
	terima kasih tolong makasih cảm ơn vui lòng köszönöm kérem mulțumesc vă rog ευχαριστώ παρακαλώ धन्यवाद शुक्रिया कृपया شكرا شكرًا شكراً فضلك لطفا رجاء תודה בבקשה 감사합니다 고맙습니다 부탁드립니다
	부탁해요 부탁합니다 asante`,
		filler: `a an the and in to for your you so very much many lot lots advance again help helping me with this that there all everyone everybody team folks
	friend sir madam could can would will i i'd would like need some my question have task one quick is are be it kind best really
	im voraus mir hilf helfen dabei damit ihnen dir ich brauche eine frage euch zusammen schon schöne freundlichen mit
	beaucoup d'avance pour votre ton aide moi aidez aide-moi avec ceci cela je une question tout le monde à tous
	muchas muchísimas de antemano ayuda ayúdame ayúdeme con esto tu su una pregunta a todos
	mille molte in anticipo aiutami aiuto con questo per l'aiuto muito muita desde já pela ajuda me ajude com isso
	bij voorbaat help mee hiermee vast på förhand hjälp mig bardzo góry z za pomoc pomóż mi w tym pomocy
	за помощь помогите помоги мне с этим большое вам очень şimdiden yardım için bana eder misiniz ederim çok sebelumnya bantu saya banyak
	bạn rất nhiều trước giúp tôi với लिए बहुत मदद कीजिए करें मेरी में के من لك جزيلا مقدما ساعدني في هذا على مساعدتك مسبقًا
	도와주세요 미리 이것 좀 정말`,
		assent: `yes y yep yeah yup ok okay k kk sure right correct exactly agreed fine good great perfect nice cool awesome lgtm looks sounds go ahead on continue proceed
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
	네 예 응 좋아 좋아요 좋습니다 그래 그래요 알겠어 알겠습니다 계속 계속해 계속해줘 계속하세요 계속해주세요 진행 진행해 진행해줘 진행해주세요 진행하세요 해 해줘 해주세요 주세요 그렇게 그것 다음 나머지 단계 부분 옵션 첫번째 두번째 모두 이제 아니 아니요 시작해 부탁해 부탁해요`,
		connective: `and but also now then so instead plus next additionally furthermore moreover however
	und aber auch jetzt dann außerdem stattdessen et mais aussi maintenant puis ensuite y pero también ahora luego además e ma anche ora poi inoltre mas também agora depois
	en maar ook nu dan och men också i ale też teraz potem и но а также теперь потом ещё ve ama şimdi sonra dan tetapi juga lalu và nhưng cũng bây और लेकिन अब फिर و لكن ثم الآن
	그리고 하지만 이제 그럼 또`,
		order: `summarize summarise summary translate explain describe list find extract identify classify compare write rewrite fix correct review analyse analyze answer give
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
	सारांश अनुवाद बताओ बताइए कौन क्या कब कहाँ कैसे لخص ترجم اشرح اذكر من ما متى أين كيف 요약 번역 설명 누가 무엇 언제 어디 누구 어떻게`,
		probe: `quota test testing ping pong count probe healthcheck health warmup`,
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] |= use
		}
	}
	return words
}()

// scriptPhrases are the phrases of some uses in languages that are written without spaces, the longest first.
var scriptPhrases = map[wordUse][]string{
	polite: {
		"お世話になっております", "お忙しいところ恐れ入りますが", "よろしくお願いいたします", "よろしくお願い致します", "どうぞよろしくお願いします", "よろしくお願いします", "ありがとうございます", "お願いいたします",
		"おはようございます", "こんにちは", "こんばんは", "はじめまして", "すみませんが", "すみません", "恐れ入りますが", "ありがとう", "どうも", "お願いします",
		"请帮我一个忙", "请帮个忙", "麻烦您帮我", "麻烦帮我", "麻烦您了", "麻烦你了", "非常感谢", "十分感谢", "提前感谢", "多谢了", "感谢您", "谢谢您", "谢谢你", "謝謝您", "謝謝你", "早上好", "下午好", "晚上好",
		"您好", "你好", "大家好", "谢谢", "謝謝", "感谢", "多谢", "拜托了", "拜托", "麻烦", "请问", "請問", "嗨", "哈喽", "先", "啦", "了", "啊",
		"สวัสดีครับ", "สวัสดีค่ะ", "สวัสดี", "ขอบคุณมาก", "ขอบคุณครับ", "ขอบคุณค่ะ", "ขอบคุณ", "ช่วยหน่อย", "กรุณา", "ครับ", "ค่ะ",
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

// The lists of turnPhrases.
const (
	newTopic  = iota // ends a topic
	complaint        // the request was not fulfilled
)

// turnPhrases are phrases of several words that tell how a turn relates to the turns before it.
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
