package predict

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// The demand of a prompt is its apparent difficulty in logits, relative to an average prompt. For prompts
// unlike the training data, it replaces the learned difficulty, which is low for every short prompt of this kind.
const (
	maxDemand       = 3
	wordDemand      = 0.8 // demand of each demanding word, up to maxDemanding
	maxDemanding    = 3
	sizeDemand      = 0.3 // demand for each doubling of the word count above plainWords, at most maxDoublings times
	plainWords      = 16
	maxDoublings    = 2
	technicalDemand = 8      // demand per unit of the share of technical words above usualTechnical
	usualTechnical  = 0.08   // share of long words and abbreviations in plain text
	longWord        = 10     // minimum number of letters in a long word
	idealWord       = 0.6    // number of words per character in scripts without spaces
	firstIdeal      = 0x0E00 // first code point of Thai, the lowest of the scripts without spaces
)

// demandStems lists stems of words for expert work with several steps: proofs, designs, analyses, complex systems.
var demandStems = func() []string {
	stems := strings.Fields(`prove proof deriv rigor theorem lemma corollar conjecture counterexample formali axiom invariant optimal optimi asymptot
	eigenv lagrang hamilton tensor manifold topolog stochast bayes concurren distribut lock-free linearizab consensus idempoten
	transactional deadlock consisten fault-toleran scalab compiler kernel allocator scheduler bootloader assembl simd cuda vulnerab exploit cryptograph
	np-hard migrat refactor architect redesign design implement analys analyz assess evaluat trade-off tradeoff constraint uncertain
	differential diagnos debug regression traceback stacktrace segfault pharmaco prognos jurisdiction indemnif fiduciar liab econometr causal
	bewei herleit leite entwirf entwerf entwick analysi bewert migrier optimier widerspruch
	démontr prouv dédui dériv conçoi concev évalu optimis contrainte
	demuestr demostr deduc diseñ analiz evalú optimiz restric
	dimostr progett analizz valut ottimizz vincol
	demonstr deduz projet analis avali otimiz restriç
	bewijs ontwerp afleid udowod wyprowad zaprojekt przeanaliz oceń zoptymaliz
	докаж доказ вывед спроектир разработ проанализ оцен оптимиз ограничен корректн
	kanıtla türet tasarla değerlendir buktikan turunkan rancang chứng thiết phân
	أثبت برهن اشتق صمم حلل قيّم सिद्ध व्युत्पन्न डिज़ाइन विश्लेषण मूल्यांकन अनुकूल`)
	slices.Sort(stems)
	return stems
}()

// demandOf returns the demand of a prompt. Like TaskOf, it reads only the start and the end of a long prompt.
func demandOf(text string) float64 {
	if len(text) > taskHead+taskTail {
		text = strings.ToValidUTF8(text[:taskHead]+" "+text[len(text)-taskTail:], "")
	}
	words, technical, found, ideal := 0.0, 0, 0, 0
	for word := range strings.FieldsFuncSeq(text, isSeparator) {
		words++
		lower := strings.ToLower(word)
		switch upper, letters := capitals(word); {
		case isDemanding(lower):
			found++
			technical++
		case upper >= 2 && upper*2 >= letters, letters >= longWord:
			technical++
		}
		for _, r := range word {
			if r >= firstIdeal && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
				ideal++
			}
		}
	}
	if words == 0 {
		return 0
	}
	if ideal > 0 {
		words = max(words, idealWord*float64(ideal))
		for _, phrase := range [...]string{ // stems in scripts that do not separate words with spaces
			"证明", "證明", "推导", "推導", "设计", "設計", "分析", "评估", "評估", "优化", "最优", "约束", "一致性", "并发", "分布式", "証明",
			"導出", "評価", "最適", "実装", "整合", "並行", "分散", "증명", "유도", "설계", "분석", "평가", "최적", "구현", "동시",
		} {
			if strings.Contains(text, phrase) {
				found++
			}
		}
	}
	share := float64(technical) / max(words, 8) // the share is not meaningful for very short prompts, so a minimum of 8 words is assumed
	demand := wordDemand*float64(min(found, maxDemanding)) + technicalDemand*max(0, share-usualTechnical) +
		sizeDemand*min(math.Log2(max(words/plainWords, 1)), maxDoublings)
	return math.Round(1000*min(demand, maxDemand)) / 1000
}

// isDemanding reports whether a word in lower case begins with one of demandStems.
func isDemanding(word string) bool {
	const shortest = 4 // length of the shortest stem in bytes
	if len(word) < shortest {
		return false
	}
	at, exact := slices.BinarySearch(demandStems, word)
	if exact {
		return true
	}
	const sameStart = 3 // number of stems to try before the position at which the word would be inserted
	for i := at - 1; i >= max(0, at-sameStart); i-- {
		if strings.HasPrefix(word, demandStems[i]) {
			return true
		}
	}
	return false
}

func isSeparator(r rune) bool {
	if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
		return false // fast path for most characters, because the search below is slow
	}
	return r <= ' ' || strings.ContainsRune(`.,;:!?"'()[]{}<>/\|*=+&%$#@^~。，、？！；：「」`+"`", r)
}

// capitals counts the upper-case ASCII letters and all ASCII letters of a word.
func capitals(word string) (upper, letters int) {
	for i := range len(word) {
		switch b := word[i]; {
		case b >= 'A' && b <= 'Z':
			upper++
			letters++
		case b >= 'a' && b <= 'z':
			letters++
		}
	}
	return upper, letters
}
