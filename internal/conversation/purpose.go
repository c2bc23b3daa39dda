package conversation

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Purpose is the purpose of a housekeeping call: a request that an agent or a chat client sends for itself.
type Purpose string

// The purposes of housekeeping calls. The comments describe the task that the model performs.
const (
	Title      Purpose = "title"      // name the conversation
	Topic      Purpose = "topic"      // detect whether the user has begun a new topic
	Summary    Purpose = "summary"    // write a summary that replaces the conversation
	Suggestion Purpose = "suggestion" // suggest the user's next question
	Label      Purpose = "label"      // determine the tags, the category or the language of a message
	Command    Purpose = "command"    // determine the properties of a shell command
	Commit     Purpose = "commit"     // write a commit message
	Probe      Purpose = "probe"      // respond to a connection test
)

// Purposes lists all purposes.
func Purposes() []Purpose {
	return []Purpose{Title, Topic, Summary, Suggestion, Label, Command, Commit, Probe}
}

// prompts are sentences in the housekeeping prompts of known clients. The instructions and the last user turn are searched for them.
var prompts = []struct {
	client  string
	purpose Purpose
	marker  string
}{
	{"claude_code", Topic, "Analyze if this message indicates a new conversation topic"},
	{"claude_code", Title, "Summarize this coding conversation in under 50 characters"},
	{"claude_code", Title, "write a 5-10 word title"},
	{"claude_code", Title, "Generate a concise, sentence-case title"},
	{"claude_code", Summary, "Your task is to create a detailed summary of the conversation so far"},
	{"claude_code", Summary, "tasked with summarizing conversations"},
	{"claude_code", Command, "process Bash commands that an AI coding agent wants to run"},
	{"claude_code", Command, "Extract any file paths that this command reads or modifies"},
	{"claude_code", Suggestion, "[SUGGESTION MODE:"},
	{"opencode", Title, "You are a title generator"},
	{"opencode", Summary, "Provide a detailed prompt for continuing our conversation above"},
	{"opencode", Summary, "Summarize our conversation above"},
	{"codex", Summary, "You are performing a CONTEXT CHECKPOINT COMPACTION"},
	{"cline", Summary, "The current conversation is rapidly running out of context"},
	{"roo_code", Summary, "Your task is to create a detailed summary of the conversation"},
	{"aider", Commit, "generates concise, one-line Git commit messages"},
	{"aider", Summary, "*Briefly* summarize this partial conversation about programming"},
	{"gemini_cli", Summary, "You are the component that summarizes internal chat history"},
	{"gemini_cli", Topic, "determine who should logically speak next"},
	{"copilot", Title, "crafting ultra-compact titles"},
	{"copilot", Title, "crafting pithy titles"},
	{"goose", Title, "provide a concise description of this session in 4 words or less"},
	{"zed", Title, "Generate a concise 3-7 word title for this conversation"},
	{"open_webui", Title, "Generate a concise, 3-5 word title"},
	{"open_webui", Label, "broad tags categorizing the main themes"},
	{"open_webui", Suggestion, "relevant follow-up questions or prompts that the user might naturally ask"},
	{"open_webui", Topic, "determine the necessity of generating search queries"},
	{"librechat", Title, "5-word-or-less title for the conversation"},
}

// concept is a topic that housekeeping prompts mention. Its stems are word beginnings in many languages. A stem matches at the start of a
// word; in scripts without spaces, it matches anywhere.
type concept int

const (
	titleWords concept = iota
	nameWords
	conversationWords
	messageWords
	topicWords
	summaryWords
	suggestWords
	userWords
	labelWords
	commitWords
	commandWords
	checkWords
	changeWords
	replyWords
	briefWords
)

var stems = [...][]string{
	titleWords: strings.Fields(`title titel titre título titulo titolo tytuł tytuł заголов назван наименован عنوان 标题 標題 タイトル 題名 件名 제목 शीर्षक başlık tiêu judul otsikko rubrik
		overskrift název titlu cím τίτλ כותרת หัวข้อ ชื่อเรื่อง headline`),
	nameWords: strings.Fields(`name namen nom nombre nome nazw имя 名称 名字 名前 이름 naam नाम isim ad اسم`),
	conversationWords: strings.Fields(`conversation chat session thread dialog gespräch unterhaltung sitzung chatverlauf verlauf discussion échange conversación sesión charla conversazione sessione conversa
		sessão rozmow czat besed бесед разговор переписк диалог чат сесси محادث حوار دردش 对话 會話 会话 聊天 会話 チャット 대화 채팅 बातचीत वार्तालाप चैट संवाद sohbet konuşma oturum trò hội percakapan obrolan
		gesprek samtal chatt keskustelu konverzac συνομιλ συζήτησ שיחה การสนทนา แชท beszélget`),
	messageWords: strings.Fields(`message messages request prompt input note ticket text comment nachricht anfrage eingabe mensaje solicitud messaggio richiesta mensagem pedido bericht meddelande wiadomoś сообщен запрос текст реплик
		رسال نص 消息 信息 留言 メッセージ 文章 메시지 문장 संदेश मैसेज mesaj tin pesan หมายเหตุ ข้อความ μήνυμα הודעה üzenet notiz notatk заметк 笔记 メモ 메모 diff change changes`),
	topicWords: strings.Fields(`topic subject thema sujet tema tópico asunto argomento assunto temat тем موضوع 话题 話題 主题 主題 トピック 주제 विषय konu chủ topik onderwerp ämne θέμα נושא หัวข้อ téma isnewtopic`),
	summaryWords: strings.Fields(`summar compact condens compress digest recap zusammenfass fasse verdicht komprimier résum condense resum sintetiz riassum sintetizz streść streszcz podsum сожми сократ кратк суммир резюм итог
		لخص ملخص تلخيص 总结 摘要 压缩 概括 要約 まとめ 圧縮 요약 압축 सारांश संक्षेप özet tóm ringkas samenvat sammanfatt tiivistä shrň rezum σύνοψ περίληψ סכם תקציר สรุป összefoglal`),
	suggestWords: strings.Fields(`suggest predict propose guess vorschl schlage propos sugg sugier propón propon suger zaproponuj предлож угад اقترح 建议 预测 推荐 提案 予測 제안 예측 सुझा öner đề sarank usul voorstel stel föreslå navrhn προτείν הצע แนะนำ`),
	userWords:    strings.Fields(`user nutzer benutzer anwender utilisateur usuari utente użytkownik пользоват المستخدم 用户 用戶 使用者 ユーザ 사용자 उपयोगकर्ता kullanıcı người pengguna gebruiker användare uživatel χρήστη המשתמש ผู้ใช้ next follow-up`),
	labelWords: strings.Fields(`classif categor label tag tags keyword intent sentiment klassifiz kategor schlagw etikett stichw étiquet mot-clé mots-clés etiquet clasific clasifica palabra classific etichett parol palavr etykiet tagi zaklasyf метк тег классиф категор ключев
		تصنيف صنف وسم وسوم 分类 分類 标签 標籤 タグ ラベル 태그 분류 라벨 टैग वर्गीकृत श्रेणी लेबल etiket sınıfland phân nhãn thẻ klasifik tandai trefwoord tagg štítk ετικέτ תווית תייג ป้าย แท็ก language idioma sprache langue lingua língua język язык اللغة 语言 言語 언어 भाषा dil ngôn bahasa taal språk jazyk γλώσσα שפה ภาษา`),
	commitWords:  strings.Fields(`commit коммит 提交 コミット 커밋`),
	commandWords: strings.Fields(`command befehl kommando commande comando polecen команд 命令 コマンド 명령 कमांड komut lệnh perintah opdracht أمر`),
	checkWords: strings.Fields(`prefix permission safe dangerous path paths filepaths allowed präfix berechtigung pfad pfade gefährlich préfixe autorisation chemin prefijo permiso ruta percorso permesso prefixo caminho permissão
		префикс разреш путь пути 前缀 权限 路径 危险 接頭辞 権限 パス 접두사 권한 경로 위험`),
	changeWords: strings.Fields(`new change changes switch shift whether neu wechsel ändert ob nouveau change si nuevo cambia nuovo cambia novo muda nowy zmien нов смен меня ли جديد يغير 新 变 換 换 是否 変わ かどうか 새 바뀌 नया बदल yeni değiş mới đổi baru ganti nieuw verander ny byter isnewtopic`),
	replyWords:  strings.Fields(`reply respond answer say return antworte sage réponds responde responda rispondi odpowiedz ответь скажи أجب 回复 回答 返回 返信 答え 답 जवाब yanıtla cevapla trả jawab antwoord svara`),
	briefWords: strings.Fields(`only just nothing one single short brief concise most under than fewer words characters word line one-line lower-case json nur höchstens kurz ein wort wörter zeile einzeil seulement uniquement rien court mot mots plus une solo sólo solamente únicamente breve
		corto corta palabra palabras una máximo apenas somente curto curta palavra palavras uma soltanto corta parola parole riga tylko krótk jedn słow najwyżej только коротк одн слов строк не فقط كلم واحد قصير جمل 只 仅 一个 一句 个字 不超过 简短 简洁 短 だけ のみ 一つ 一語 以内 만 하나 짧 단어 한 केवल एक सिर्फ छोट शब्द sadece
		kısa tek kelime yalnızca chỉ ngắn một từ hanya singkat satu kata alleen kort één woord regel bara ett ord pouze krátk jedn μόνο σύντομ λέξ רק קצר מילה אחת เท่านั้น สั้น คำ csak rövid doar scurt`),
}

const (
	maxDuty       = 700 // maximum length in bytes of instructions for housekeeping
	maxShortDuty  = 320 // maximum length in bytes of instructions for labelling a message
	maxProbe      = 24  // maximum length of a probe in bytes; twice as much if the prompt contains the expected response
	maxProbeOrder = 90  // maximum length in bytes of a probe's instructions
	probeOutput   = 8   // maximum output limit in tokens of a probe
	wholeStem     = 3   // maximum length in bytes of a stem that must match a whole word
)

// lastWords returns the text of the last user message that has text.
func (c *conversation) lastWords() string {
	for i := len(c.messages) - 1; i >= 0; i-- {
		if c.messages[i].author == byUser && c.messages[i].text() != "" {
			return c.messages[i].text()
		}
	}
	return ""
}

// knownPrompt returns the purpose of a prompt that a known client sends, or an empty string.
func (c *conversation) knownPrompt() (known Purpose) {
	last := c.lastWords()
	for _, text := range []string{c.system, head(last, markerBytes), tail(last, markerBytes)} {
		markers.each(text, func(list, i, _, _ int) bool {
			if list == promptMarker {
				known = prompts[i].purpose
			}
			return known == ""
		})
		if known != "" {
			break
		}
	}
	return known
}

// purpose returns the housekeeping purpose of a request with one user message, or an empty string.
func (c *conversation) purpose() Purpose {
	users := 0
	for i := range c.messages {
		switch c.messages[i].author {
		case byUser:
			users++
		case byModel:
			return ""
		case bySystem, byTool, byOther:
		}
	}
	if c.tools || users != 1 {
		return ""
	}
	last := c.lastWords()
	if c.isProbe(last) {
		return Probe
	}
	if c.system != "" {
		return duty(c.system)
	}
	// A client without a system prompt sends the conversation in a block, with its instruction before or after the block.
	if strings.Contains(last, "</") {
		var order strings.Builder
		(&blocks{own: &order, orders: &order, outside: true}).read(last)
		if purpose := duty(order.String()); purpose == Title || purpose == Topic || purpose == Summary {
			return purpose
		}
	}
	return ""
}

// isProbe reports whether the only user turn just tests whether the model responds.
func (c *conversation) isProbe(turn string) bool {
	turn = strings.ToLower(strings.Trim(strings.TrimSpace(turn), ".!?\"'"))
	switch {
	case c.system != "":
		return len(c.system) <= maxProbeOrder && len(turn) <= 2*maxProbe && conceptsIn(strings.ToLower(c.system)).has(replyWords) && namesProbe(c.system)
	case c.maxOutput > 0 && c.maxOutput <= probeOutput && len(turn) <= maxProbe:
		return true
	}
	return probes[turn] || len(turn) <= 2*maxProbe && conceptsIn(turn).has(replyWords) && namesProbe(turn)
}

// namesProbe reports whether an instruction contains the expected response, as in "Reply with OK."
func namesProbe(order string) bool {
	for word := range wordsOf(order) {
		switch word {
		case "ok", "okay", "pong", "ack", "ready":
			return true
		}
	}
	return false
}

// duty returns the housekeeping purpose that instructions describe. All words of a purpose must be in one sentence, except words that
// limit the length of the response.
func duty(instructions string) Purpose {
	if len(instructions) > maxDuty {
		return ""
	}
	text := strings.ToLower(instructions)
	brief := conceptsIn(text).has(briefWords)
	short := len(text) <= maxShortDuty && brief
	for sentence := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".!?。！？।\n", r) }) {
		found := conceptsIn(sentence)
		about := found.has(conversationWords)
		switch {
		case about && found.has(titleWords), about && brief && found.has(nameWords):
			return Title
		case found.has(topicWords) && (about || found.has(messageWords)) && found.has(changeWords):
			return Topic
		case about && found.has(summaryWords):
			return Summary
		case brief && found.has(suggestWords) && found.has(userWords):
			return Suggestion
		case found.has(commandWords) && found.has(checkWords):
			return Command
		case found.has(commitWords) && (brief || found.has(messageWords)):
			return Commit
		case short && found.has(labelWords) && found.has(messageWords):
			return Label
		}
	}
	return ""
}

// concepts is a set of concepts, with one bit for each.
type concepts uint32

func (s concepts) has(c concept) bool { return s&(1<<c) != 0 }

// stemSet holds the stems of all concepts, and the list of a stem is its concept. shortStems holds those that are too short for a phraseSet.
var stemSet, shortStems = func() (*phraseSet, map[string]concepts) {
	long, short := make([][]string, len(stems)), map[string]concepts{}
	for c, list := range stems {
		for _, stem := range list {
			if len(stem) < minPhrase {
				short[stem] |= 1 << c
			} else {
				long[c] = append(long[c], stem)
			}
		}
	}
	return newPhraseSet(long), short
}()

// conceptsIn returns the concepts that lower-case text mentions.
func conceptsIn(text string) (found concepts) {
	stemSet.each(text, func(list, _, at, length int) bool {
		if c := concept(list); !found.has(c) && beginsWord(text, at, length) {
			found |= 1 << c
		}
		return true
	})
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inWord(r) }) {
		if len(word) < minPhrase {
			found |= shortStems[word]
		}
	}
	return found
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// beginsWord reports whether the stem at an offset of the text begins a word. A stem of up to wholeStem bytes must be a whole word.
func beginsWord(text string, at, length int) bool {
	// Scripts without spaces, and those that attach particles to words, have no word boundaries.
	if first, _ := utf8.DecodeRuneInString(text[at:]); unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul, unicode.Arabic, unicode.Hebrew) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at+length:])
	return !inWord(before) && (length > wholeStem || !inWord(after))
}
