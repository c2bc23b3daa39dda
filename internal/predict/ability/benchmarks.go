package ability

import (
	"maps"
	"math"
	"slices"
	"strings"
)

// family is a kind of benchmark that the predictor has anchors for. The logit of a model's mean score is about
// centre + slope·s, where s is the general strength of the model. A strength of 0 is about GPT-4.1, -1 is a good model with
// 8 billion parameters, and +1 is the best model at the end of 2025.
type family struct {
	benchmarks    []string
	centre, slope float64
}

// families were fitted together with the boards below by alternating least squares, with one strength per model and a centre and a slope
// per benchmark. The data are 2,700 published scores and the mean outcomes of the training data; fifteen models have both. For code and
// facts the training data contains only small models, so their slopes are set manually to typical values.
var families = map[string]family{
	"mmlu":        {[]string{"mmlu", "routellm_mmlu", "mmlu_redux", "zeroeval_mmlu_redux"}, 1.90, 1.00},
	"mmlu_pro":    {[]string{"mmlu_pro"}, 1.12, 1.18},
	"gsm8k":       {[]string{"gsm8k", "routellm_gsm8k", "zeroeval_gsm", "gsm"}, 3.24, 1.50},
	"math":        {[]string{"math_l5", "zeroeval_math_l5", "math"}, 0.65, 1.42},
	"logic":       {[]string{"zebra", "zebra_grid", "zeroeval_zebra_grid", "logic"}, -0.75, 1.47},
	"tools":       {[]string{"bfcl", "tools"}, 2.08, 1.45},
	"code":        {[]string{"mbpp", "human_eval", "humaneval", "code"}, 1.15, 0.90},
	"facts":       {[]string{"trivia_qa", "natural_qa", "qa"}, 0.60, 0.80},
	"common":      {[]string{"choice", "arc_challenge", "openbook_qa", "commonsense_qa", "common"}, 2.40, 1.30},
	"fill_in":     {[]string{"winogrande"}, 1.60, 1.00},
	"translation": {[]string{"translation"}, 0.40, 0.70},
	"chat":        {[]string{"chat"}, 0.60, 1.00},
}

// generalFamilies lists the families that a model's catalog quality and its scores on unknown benchmarks are assumed to measure.
var generalFamilies = []string{"mmlu", "mmlu_pro", "gsm8k", "math", "logic", "code"}

// board is a published benchmark. families lists the benchmark families that its questions resemble. centre and slope relate score and
// strength as in family. noise is the standard deviation of the score's logit from the value centre + slope·s.
type board struct {
	families             []string
	centre, slope, noise float64
}

// boards maps folded names to boards. For a board with few published scores, the noise is that of similar boards.
var boards = func() map[string]board {
	science := []string{"mmlu_pro"}
	everyday := []string{"mmlu"}
	sums := []string{"math"}
	grades := []string{"gsm8k", "math"}
	puzzles := []string{"logic"}
	programs := []string{"code"}
	calls := []string{"tools"}
	following := []string{"mmlu_pro", "chat", "common"}
	reading := []string{"mmlu_pro", "facts", "common"}
	agents := []string{"tools", "code", "logic"}
	return map[string]board{
		"aaindex":               {generalFamilies, -1.78, 1.26, 0.25},
		"aacoding":              {programs, -1.30, 1.40, 0.45},
		"aaagentic":             {agents, -3.19, 2.02, 0.80},
		"gpqadiamond":           {science, 0.62, 1.17, 0.30},
		"gpqa":                  {science, 0.72, 1.27, 0.40},
		"hle":                   {science, -2.43, 1.08, 0.60},
		"ifbench":               {following, -0.19, 0.79, 0.45},
		"ifeval":                {following, 2.06, 0.56, 0.55},
		"lcr":                   {reading, -0.70, 1.32, 0.50},
		"scicode":               {programs, -0.87, 0.76, 0.30},
		"terminalbenchhard":     {agents, -2.28, 1.87, 0.60},
		"terminalbench2":        {agents, -0.37, 1.00, 0.50},
		"tau2":                  {calls, -0.22, 2.11, 1.20},
		"tauairline":            {calls, -0.48, 1.25, 0.50},
		"tauretail":             {calls, 0.42, 1.35, 0.50},
		"aider":                 {programs, -0.52, 2.23, 0.70},
		"swebenchverified":      {agents, -0.31, 1.63, 0.60},
		"swebenchpro":           {agents, -1.62, 0.93, 0.70},
		"livecodebench":         {programs, 0.45, 1.41, 0.50},
		"humanevalcard":         {programs, 2.24, 0.86, 0.40},
		"bfclv4ast":             {calls, 1.52, 0.60, 0.80},
		"bfclv4live":            {calls, 0.99, 0.60, 0.70},
		"bfclv4multiturn":       {calls, -1.37, 1.37, 0.90},
		"bfclv4irrelevance":     {calls, 1.28, 0.69, 0.80},
		"livebenchaverage":      {generalFamilies, -0.10, 1.05, 0.45},
		"livebenchcoding":       {programs, 0.46, 0.62, 0.30},
		"livebenchcoding2606":   {programs, 0.16, 0.79, 0.30},
		"livebenchagentic":      {agents, -1.99, 1.89, 0.80},
		"livebenchagentic2606":  {agents, -1.43, 1.12, 0.45},
		"livebenchdata":         {reading, -0.34, 0.79, 0.45},
		"livebenchdata2606":     {reading, -0.19, 0.92, 0.40},
		"livebenchif":           {following, -1.12, 1.28, 0.60},
		"livebenchif2606":       {following, -0.43, 0.97, 0.40},
		"livebenchlanguage":     {reading, 0.11, 0.97, 0.45},
		"livebenchlanguage2606": {reading, -0.04, 1.10, 0.40},
		"livebenchmaths":        {sums, 0.42, 0.97, 0.42},
		"livebenchmaths2606":    {sums, 0.39, 1.27, 0.40},
		"livebenchreasoning":    {puzzles, -0.41, 1.37, 0.45},
		"livebenchreason2606":   {puzzles, -0.08, 1.32, 0.40},
		"mathcard":              {sums, 1.80, 1.23, 0.75},
		"math500":               {sums, 2.90, 1.10, 0.60},
		"aime2024":              {sums, 1.02, 1.67, 0.95},
		"aime2025":              {sums, 1.40, 1.60, 0.95},
		"aime":                  {sums, 1.20, 1.60, 1.10},
		"mgsm":                  {grades, 2.25, 1.16, 0.45},
		"mmlucard":              {everyday, 2.09, 0.98, 0.25},
		"mmluprocard":           {science, 1.30, 1.04, 0.25},
		"mmmlu":                 {everyday, 1.53, 0.95, 0.35},
		"alpacaeval":            {[]string{"chat"}, 0.40, 1.40, 0.70}, // win rate against another model, not the share of good responses
		"arenahard":             {[]string{"chat"}, 0.40, 1.80, 0.80},
		"flores":                {[]string{"translation"}, 0.05, 0.85, 0.50}, // similarity to a reference
		"simpleqa":              {[]string{"facts"}, -1.16, 1.36, 0.60},
	}
}()

// otherNames maps other folded spellings of a benchmark to its name in boards.
var otherNames = map[string]string{
	"artificialanalysisintelligenceindex": "aaindex", "aaintelligenceindex": "aaindex", "intelligenceindex": "aaindex",
	"aacodingindex": "aacoding", "aaagenticindex": "aaagentic",
	"humanityslastexam": "hle", "longcontextreasoning": "lcr", "aalcr": "lcr", "tau2bench": "tau2", "taubench": "tauretail",
	"taubenchairline": "tauairline", "taubenchretail": "tauretail", "terminalbench": "terminalbench2", "terminalbench21": "terminalbench2",
	"terminalbench20": "terminalbench2", "swebench": "swebenchverified", "aiderpolyglot": "aider", "aiderpolyglotpassrate": "aider",
	"livebenchmathematics": "livebenchmaths", "livebenchdataanalysis": "livebenchdata", "livebenchagenticcoding": "livebenchagentic",
	"livebenchreasoning2606": "livebenchreason2606", "livebenchinstructionfollowing": "livebenchif", "bfclv4nonliveast": "bfclv4ast",
	"bfclv4irrelevancedetection": "bfclv4irrelevance", "livebench": "livebenchaverage", "geminiflores": "flores", "alpacaeval2": "alpacaeval",
}

// directNames maps folded names of benchmarks to a family. A score on a benchmark without anchors of its own is used directly as the mean
// success probability of this family.
var directNames = map[string]string{
	"arc": "common", "arcchallenge": "common", "arceasy": "common", "routerbencharc": "common", "commonsenseqa": "common", "openbookqa": "common",
	"hellaswag": "common", "winogrande": "fill_in", "routerbenchwinogrande": "fill_in", "mbpp": "code", "routerbenchmbpp": "code", "humaneval": "code",
	"geminihumaneval": "code", "odex": "code", "geminiodex": "code", "svamp": "gsm8k", "geminisvamp": "gsm8k", "mawps": "gsm8k",
	"mawpsmultiarith": "gsm8k", "geminimawpsmultiarith": "gsm8k", "gsm": "gsm8k", "math": "math", "mathl5": "math", "zebragrid": "logic",
	"logicgrid": "logic", "triviaqa": "facts", "naturalqa": "facts", "naturalquestions": "facts", "functioncalling": "tools",
	"cmmlu": "mmlu", "ceval": "mmlu", "zeroevalcrux": "code", "crux": "code",
}

const (
	directNoise   = 0.2 // noise of a score on a known benchmark, whose anchors are only a sample of its prompts
	unknownNoise  = 2.0 // noise of a score on an unknown benchmark
	strengthNoise = 0.4 // noise of a mean derived from the scores on other benchmarks
	scorePrompts  = 200 // assumed number of prompts of a known benchmark
)

// scoreNoise returns the standard deviation of the logit of a score. It is large near 0 and 1, where a few prompts change the logit
// considerably.
func scoreNoise(value float64) float64 {
	chance := sigmoid(logit(value))
	return math.Sqrt(directNoise*directNoise + 1/(scorePrompts*chance*(1-chance)))
}

// targets converts scores to targets of the fit. Unusable scores are skipped.
func (g *abilityFitter) targets(scores []Score) []target {
	var list []target
	for _, s := range scores {
		value := s.Value
		if value > 1 {
			value /= 100
		}
		if math.IsNaN(value) || value < 0 || value > 1 {
			continue
		}
		list = append(list, g.target(fold(s.Benchmark), value))
	}
	return list
}

func (g *abilityFitter) target(name string, value float64) target {
	if other, ok := otherNames[name]; ok {
		name = other
	}
	if _, published := boards[name]; !published {
		if p := g.direct(name); p != nil {
			return target{pools: []*anchorPool{p}, logit: logit(value), noise: scoreNoise(value)}
		}
	}
	b, ok := boards[name]
	if !ok {
		t := g.equated(board{generalFamilies, 0.5, 1, unknownNoise}, value)
		t.strength = math.NaN() // the difficulty of an unlisted benchmark is unknown, so its score does not determine a strength
		return t
	}
	return g.equated(b, value)
}

// direct returns the anchors of the benchmark with this name, or else of its family. It returns nil for an unknown name.
func (g *abilityFitter) direct(name string) *anchorPool {
	if p := g.pools[name]; p != nil {
		return p
	}
	for _, prefix := range []string{"routellm", "zeroeval", "routerbench", "gemini", "routerdc7", "llmrouterulab", "ulab"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && g.pools[rest] != nil {
			return g.pools[rest]
		}
	}
	if family, ok := directNames[name]; ok {
		return g.families[family]
	}
	for _, f := range sortedKeys(families) {
		if slices.ContainsFunc(families[f].benchmarks, func(b string) bool { return fold(b) == name }) {
			return g.families[f]
		}
	}
	return nil
}

// equated derives a model's strength from its score on a board, and returns the score expected for this strength on the board's families.
func (g *abilityFitter) equated(b board, value float64) target {
	const step = 0.05
	strength := (logit(value) - b.centre) / b.slope
	t := target{logit: expected(b.families, strength), board: b.families, strength: strength}
	perStrength := (expected(b.families, strength+step) - expected(b.families, strength-step)) / (2 * step)
	t.noise = max(b.noise/b.slope*perStrength, directNoise)
	for _, name := range b.families {
		t.pools = append(t.pools, g.families[name])
	}
	return t
}

// withStrength adds a target for each general family without a score: the expected mean success probability of a model of the same
// strength. The prior was learned from weaker models, so without these targets the predictions for the strongest models would be too low.
// It adds nothing if any score is from a training-data benchmark, because such a score does not determine a strength.
func (g *abilityFitter) withStrength(targets []target) []target {
	if !published(targets) {
		return targets
	}
	sum, weight, covered := 0.0, 0.0, map[string]bool{}
	for _, t := range targets {
		if math.IsNaN(t.strength) {
			continue
		}
		w := 1 / (t.noise * t.noise)
		sum += w * t.strength
		weight += w
		if len(t.board) < len(generalFamilies) {
			for _, name := range t.board {
				covered[name] = true
			}
		}
	}
	if weight == 0 {
		return targets
	}
	list := slices.Clip(targets)
	noise := math.Sqrt(strengthNoise*strengthNoise + float64(len(generalFamilies))/weight) // all families share the error of the strength
	for _, name := range generalFamilies {
		if !covered[name] {
			list = append(list, g.atStrength(name, sum/weight, noise))
		}
	}
	return list
}

// published reports whether all scores are from published boards.
func published(targets []target) bool {
	return len(targets) > 0 && !slices.ContainsFunc(targets, func(t target) bool { return t.board == nil })
}

// atStrength returns the target of a family for a model of the given strength.
func (g *abilityFitter) atStrength(name string, strength, noise float64) target {
	return target{pools: []*anchorPool{g.families[name]}, logit: expected([]string{name}, strength), noise: noise}
}

// expected returns the logit of the expected mean score of a model of the given strength on the named families.
func expected(names []string, strength float64) float64 {
	mean := 0.0
	for _, name := range names {
		f := families[name]
		mean += sigmoid(f.centre+f.slope*strength) / float64(len(names))
	}
	return unboundedLogit(min(max(mean, 0.01), 0.99))
}

// fold converts a name to lower case and keeps only the letters and digits outside parentheses.
func fold(name string) string {
	var b strings.Builder
	depth := 0
	for _, r := range strings.ToLower(name) {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case depth == 0 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
