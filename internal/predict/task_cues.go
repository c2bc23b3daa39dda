package predict

import "strings"

// taskCue is the evidence that a word provides for a task.
type taskCue struct {
	kind   taskKind
	weight float64
	amount bool // whether the word is a quantity word that occurs in word problems
	asks   bool // whether the word starts a question about a fact
}

// taskCues maps lower-case words to cues. A weight reflects how much more often the word occurs in prompts of the task than in others. A
// single word with weight 1 is enough to select the task.
var taskCues = func() *lexicon[taskCue] {
	table := map[string]taskCue{}
	for _, group := range []struct {
		cue   taskCue
		words string
	}{
		{taskCue{kind: kindTranslation, weight: 1.5}, `translate translation translator translating übersetze übersetzen übersetzung traduis traduire traduction traduisez
			traduce traducir traducción traduza traduzir tradução traduci tradurre traduzione vertaal vertalen vertaling przetłumacz tłumaczenie çevir çeviri terjemahkan
			переведи Переведи переведите Переведите перевод Перевод перевести dịch översätt oversæt oversett přelož traducere`},
		{taskCue{kind: kindExtraction, weight: 1.2}, `extract summarize summarise summarizing summary tldr classify categorize categorise sentiment entities paraphrase
			extrahiere zusammenfassen zusammenfassung klassifiziere extrais extraire résume résumer résumé extrae extraer resume resumir resumen clasifica extraia resuma resumo
			estrai riassumi riassunto samenvatting streszczenie`},
		{taskCue{kind: kindExtraction, weight: 0.5}, `passage transcript document article invoice email mention mentioned labels label fields keywords according json csv schema spreadsheet`},
		{taskCue{kind: kindCode, weight: 2}, `def elif println printf kwargs nullptr stacktrace traceback`},
		{taskCue{kind: kindCode, weight: 1}, `function functions python javascript typescript golang java kotlin html css sql regex bash powershell numpy pandas react django flask docker kubernetes
			refactor unittest pytest npm sdk stdin stdout std segfault webpack assert postgres mongodb
			programm funktion código fonction programme codice`},
		{taskCue{kind: kindCode, weight: 0.5}, `code class import return const async await struct null exception bug compile compiler script algorithm array string strings boolean
			integer int float dict tuple list lists loop api endpoint database query repository commit branch method module package library codebase debug void public private static
			var self args true false foo bar github rust stack terminal cli c++ input output implement`},
		{taskCue{kind: kindMaths, weight: 1}, `equation polynomial integral derivative theorem prove frac sqrt boxed cdot trigonometric logarithm eigenvalue matrix modulo divisible arithmetic
			geometric hypotenuse perpendicular congruent sin cos binom overline circ leq geq neq triangle parabola asymptote gleichung équation ecuación equação уравнение`},
		{taskCue{kind: kindMaths, weight: 0.5}, `compute calculate evaluate solve sum product integer integers probability prime factor factors remainder digits angle radius circle perimeter
			area ratio fraction positive real multiple berechne calcule calcula вычисли решите рассчитай square cube`},
		{taskCue{kind: kindMaths, weight: 0.25, amount: true}, `many much total cost costs each per average percent percentage half twice thrice dozen left altogether remaining remain pays paid earns
			spends spent sold price hours minutes miles times more fewer less number viele kostet insgesamt jeweils combien total chaque coûte cuántos cuántas cuesta total cada
			quantos custa quanti сколько стоит`},
		{taskCue{kind: kindReasoning, weight: 1.5}, `puzzle riddle clue clues deduce logical logically logic syllogism paradox premises premise knights knaves sudoku zebra brainteaser rätsel énigme
			acertijo enigma houses house who's seated`},
		{taskCue{kind: kindReasoning, weight: 0.4}, `conclusion infer implies therefore assumption argument hypothesis step steps strategy statement statements true liar lies immediately
			directly between left right next`},
		{taskCue{kind: kindKnowledge, weight: 0.3, asks: true}, `who what when where which whose whom is are was were did does name wer was wann wo welche welcher welches wie qui quoi quand où quel quelle
			quién qué cuándo dónde cuál quem quando onde qual chi cosa dove quale кто Кто что Что когда Когда где Где какой Какой`},
		{taskCue{kind: kindKnowledge, weight: 0.6}, `following answer capital century founded discovered invented known located question options choices definition kingdom dynasty president
			chemical disease patient law court species planet element treaty`},
		{taskCue{kind: kindChat, weight: 1}, `poem story essay haiku letter blog tweet lyrics song slogan brainstorm joke recipe suggest recommend recommendations advice tips roleplay pretend
			imagine feel feeling hello hi hey thanks gedicht geschichte poème histoire poema historia cuento стих стихотворение рассказ`},
		{taskCue{kind: kindChat, weight: 0.6}, `write draft compose ideas help please my me i'm we our opinion think schreibe écris escribe escreva scrivi напиши Напиши`},
	} {
		for word := range strings.FieldsSeq(group.words) {
			if _, taken := table[word]; !taken { // a word in two groups belongs to the first group, which is more specific
				table[word] = group.cue
			}
		}
	}
	return newLexicon(table)
}()

type phrase struct {
	text   string
	kind   taskKind
	weight float64
}

// phrases are cues in languages that do not separate words with spaces, or that inflect words. They are searched for only in text that
// contains letters outside ASCII.
var phrases = []phrase{
	{"翻译", kindTranslation, 2},
	{"翻譯", kindTranslation, 2},
	{"译成", kindTranslation, 2},
	{"訳して", kindTranslation, 2},
	{"翻訳", kindTranslation, 2},
	{"번역", kindTranslation, 2},
	{"ترجم", kindTranslation, 2},
	{"अनुवाद", kindTranslation, 2},
	{"แปล", kindTranslation, 2},
	{"תרגם", kindTranslation, 2},
	{"μετάφρασ", kindTranslation, 2},
	{"总结", kindExtraction, 1.5},
	{"概括", kindExtraction, 1.5},
	{"提取", kindExtraction, 1.5},
	{"摘要", kindExtraction, 1.5},
	{"要約", kindExtraction, 1.5},
	{"抽出", kindExtraction, 1.5},
	{"요약", kindExtraction, 1.5},
	{"추출", kindExtraction, 1.5},
	{"لخص", kindExtraction, 1.5},
	{"代码", kindCode, 1.5},
	{"函数", kindCode, 1},
	{"コード", kindCode, 1.5},
	{"関数", kindCode, 1},
	{"코드", kindCode, 1.5},
	{"함수", kindCode, 1},
	{"функци", kindCode, 1},
	{"多少", kindMaths, 1.2},
	{"计算", kindMaths, 1},
	{"方程", kindMaths, 1.5},
	{"計算", kindMaths, 1},
	{"何個", kindMaths, 1.2},
	{"いくつ", kindMaths, 0.8},
	{"몇", kindMaths, 1},
	{"계산", kindMaths, 1},
	{"احسب", kindMaths, 1.2},
	{"谜", kindReasoning, 1.2},
	{"推理", kindReasoning, 1.2},
	{"答案", kindKnowledge, 1},
	{"下列", kindKnowledge, 1},
	{"哪", kindKnowledge, 1},
	{"什么", kindKnowledge, 0.6},
	{"誰", kindKnowledge, 1},
	{"とは", kindKnowledge, 0.8},
	{"누구", kindKnowledge, 1},
	{"ما هي", kindKnowledge, 1},
	{"ما هو", kindKnowledge, 1},
	{"写一", kindChat, 1},
	{"诗", kindChat, 1},
	{"書いて", kindChat, 1},
	{"써줘", kindChat, 1},
}
