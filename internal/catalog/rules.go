package catalog

import (
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
)

// rules are facts that apply to a pattern of model names instead of a single model, so that they also cover models that
// are not in the catalog. In every table the first matching row applies.
type rules struct {
	providers    []Provider
	vocabularies map[string][]vocabularyRow // rows by vendor; "" is used for vendors without rows
	images       map[string][]imageRow      // rows by vocabulary; "" is used for vocabularies without rows
	caches       []cacheRow
	parameters   []parameterRow
	prior        map[string]float64 // coefficients of the abilities of unrated models
	efforts      []effortRow
	searches     []searchRow
}

const (
	providerColumns   = "name,models_dev"
	vocabularyColumns = "vendor,model,vocabulary,margin,tools"
	imageColumns      = "vocabularies,model,base,per_tile,side,area,long_side,short_side,max_tiles,max_tiles_original"
	cacheColumns      = "provider,model,billed_writes,granularity,minimum,step,lifetime,long_lifetime,extendable,lookback,writes,hit_rate"
	parameterColumns  = "providers,model,efforts,rejects,breakpoints"
	effortColumns     = "providers,model,levels"
	priorColumns      = "term,value"
	searchColumns     = "providers,model,per_1k,unit,source,as_of"
)

// embeddedRules loads the embedded rule tables once. Default reports their errors.
var embeddedRules = sync.OnceValues(func() (*rules, error) { return readRules(embedded) })

func readRules(files fs.FS) (*rules, error) {
	r := &rules{vocabularies: map[string][]vocabularyRow{}, images: map[string][]imageRow{}, prior: map[string]float64{}}
	for _, table := range []struct {
		file, columns string
		add           func(record)
	}{
		{"data/providers.csv", providerColumns, func(row record) {
			r.providers = append(r.providers, Provider{Name: row.text("name"), ModelsDev: row.list("models_dev")})
		}},
		{"data/vocabularies.csv", vocabularyColumns, r.addVocabulary},
		{"data/images.csv", imageColumns, r.addImage},
		{"data/caches.csv", cacheColumns, r.addCache},
		{"data/efforts.csv", effortColumns, r.addEfforts},
		{"data/ability_prior.csv", priorColumns, func(row record) { r.prior[row.text("term")] = row.signed("value") }},
		{"data/parameters.csv", parameterColumns, r.addParameter},
		{"data/searches.csv", searchColumns, r.addSearch},
	} {
		if err := eachRow(files, table.file, table.columns, io.Discard, table.add); err != nil {
			return r, err
		}
	}
	return r, nil
}

// Provider holds the names of a provider in the public price list.
type Provider struct {
	Name      string   // provider name as used in offers
	ModelsDev []string // names in the models.dev list
}

// ListedProviders returns the providers that the public price list contains.
func ListedProviders() []Provider {
	r, _ := embeddedRules() // Default reports the error
	return r.providers
}

// TokenRule describes how the tokens of a model are counted.
type TokenRule struct {
	Vocabulary string    // vocabulary of the model, or the closest known one
	Margin     float64   // correction factor for models whose own vocabulary is not available
	Tools      int64     // number of tokens in the instructions that the vendor adds for tools
	Image      ImageRule // rule for counting the tokens of an image
}

// ImageRule describes how a model divides an image into tiles and counts them. The image is first shrunk to LongSide and
// ShortSide. Limits of 0 do not apply.
type ImageRule struct {
	Base             int64   // tokens for every image; the only tokens if the request asks for low detail
	PerTile          float64 // tokens per tile
	Side             float64 // side of a tile in pixels
	Area             float64 // area of a tile in pixels, if tiles need not be square
	LongSide         float64
	ShortSide        float64
	MaxTiles         float64
	MaxTilesOriginal float64 // maximum number of tiles if the request asks for the original size, instead of MaxTiles
}

type vocabularyRow struct {
	model pattern
	rule  TokenRule
}

type imageRow struct {
	model pattern
	rule  ImageRule
}

// TokenRuleFor returns the rule of a model. Models of an unknown vendor are recognised by their name.
func TokenRuleFor(vendor, model string) TokenRule {
	r, _ := embeddedRules() // Default reports the error
	name := model
	rows, known := r.vocabularies[vendor]
	if vendor == "" || !known {
		rows, name = r.vocabularies[""], strings.ToLower(model)
	}
	var rule TokenRule
	for i := range rows {
		if rows[i].model.matches(name) {
			rule = rows[i].rule
			break
		}
	}
	images, known := r.images[rule.Vocabulary]
	if !known {
		images = r.images[""]
	}
	for i := range images {
		if images[i].model.matches(model) {
			rule.Image = images[i].rule
			break
		}
	}
	return rule
}

func (r *rules) addVocabulary(row record) {
	vendor := row.text("vendor")
	rule := TokenRule{Vocabulary: row.text("vocabulary"), Margin: row.decimal("margin"), Tools: row.number("tools")}
	if rule.Vocabulary == "" || rule.Margin < 1 {
		row.fail("a vocabulary needs a name and a margin of at least 1")
	}
	r.vocabularies[vendor] = append(r.vocabularies[vendor], vocabularyRow{newPattern(row.text("model")), rule})
}

func (r *rules) addImage(row record) {
	rule := ImageRule{
		Base: row.number("base"), PerTile: row.decimal("per_tile"), Side: row.decimal("side"), Area: row.decimal("area"),
		LongSide: row.decimal("long_side"), ShortSide: row.decimal("short_side"),
		MaxTiles: row.decimal("max_tiles"), MaxTilesOriginal: row.decimal("max_tiles_original"),
	}
	vocabularies := row.list("vocabularies")
	if len(vocabularies) == 0 {
		vocabularies = []string{""}
	}
	for _, name := range vocabularies {
		r.images[name] = append(r.images[name], imageRow{newPattern(row.text("model")), rule})
	}
}

// CacheGranularity describes which prefixes of a prompt a provider caches.
type CacheGranularity uint8

// The granularities.
const (
	NoCache        CacheGranularity = iota // no cache, or no discount for cached tokens
	CacheBlocks                            // every prefix, in steps of a fixed number of tokens
	CachePromptEnd                         // the whole prompt, and prefixes that end at a breakpoint
	CacheMarks                             // only prefixes that end at a breakpoint
)

// CacheRule describes a provider's prompt cache for a model. The zero value means no cache. Lifetimes are the lower end of the documented
// range. A lifetime that is too long can keep the router at an expensive target although its cache has expired. A lifetime that is too
// short costs little.
type CacheRule struct {
	Granularity CacheGranularity
	Minimum     int64         // shortest cached prefix, in tokens
	Step        int64         // granularity of cached reads in tokens; 0 for no rounding
	Lifetime    time.Duration // lifetime of a cached prefix after its last use
	Long        time.Duration // lifetime of prefixes marked for one hour; 0 if not offered
	Extendable  bool          // whether a request can ask for a longer lifetime
	Lookback    int           // number of messages before a breakpoint that are searched for a cached prefix; 0 for no limit
	Writes      bool          // whether cache writes are billed separately
	HitRate     float64       // prior for the share of the expected cached tokens that is read from the cache; it is combined with measurements

	// EndMark reports whether the provider accepts a request member that marks the end of the prompt. EndMark and the break-even
	// points depend on the provider's API, not on the model, so the caller sets them.
	EndMark                  bool
	BreakEven, BreakEvenLong float64 // minimum expected number of reads at which caching a token for Lifetime or Long saves money
}

type cacheRow struct {
	provider string // provider name; empty for every provider
	model    pattern
	billed   bool // whether the rule applies only to prices with a rate for cache writes
	rule     CacheRule
}

// CacheRuleFor returns the rule of a model at a provider with the given price. Without a rate for cached tokens it
// returns no cache, because a hit would not save anything.
func CacheRuleFor(provider, model string, price *Price) CacheRule {
	if price == nil || price.CacheRead == nil {
		return CacheRule{}
	}
	r, _ := embeddedRules() // Default reports the error
	for i := range r.caches {
		row := &r.caches[i]
		if (row.provider == "" || row.provider == provider) && (!row.billed || price.CacheWrite != nil) && row.model.matches(model) {
			rule := row.rule
			rule.Writes = rule.Writes && price.CacheWrite != nil
			return rule
		}
	}
	return CacheRule{}
}

func (r *rules) addCache(row record) {
	granularity, ok := map[string]CacheGranularity{"blocks": CacheBlocks, "prompt_end": CachePromptEnd, "marks": CacheMarks}[row.text("granularity")]
	if !ok {
		row.fail("unknown granularity %q", row.text("granularity"))
	}
	r.caches = append(r.caches, cacheRow{row.text("provider"), newPattern(row.text("model")), row.boolean("billed_writes"), CacheRule{
		Granularity: granularity, Minimum: row.number("minimum"), Step: row.number("step"), Lifetime: row.duration("lifetime"),
		Long: row.duration("long_lifetime"), Extendable: row.boolean("extendable"), Lookback: int(row.number("lookback")),
		Writes: row.boolean("writes"), HitRate: row.decimal("hit_rate"),
	}})
}

// pattern matches model names: a name, a prefix* or a *part*.
type pattern struct {
	text       string
	head, tail bool // whether other characters may precede or follow text
}

func newPattern(text string) pattern {
	text, tail := strings.CutSuffix(text, "*")
	text, head := strings.CutPrefix(text, "*")
	return pattern{text, head, tail}
}

func (p pattern) matches(name string) bool {
	switch {
	case p.head:
		return strings.Contains(name, p.text)
	case p.tail:
		return strings.HasPrefix(name, p.text)
	}
	return name == p.text
}

// decimal returns a positive number, or 0 for an empty cell.
func (r record) decimal(column string) float64 {
	text := r.text(column)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) {
		r.fail("%s %q is not a number above zero", column, text)
	}
	return n
}

// duration parses a duration, or returns 0 for an empty cell.
func (r record) duration(column string) time.Duration {
	text := r.text(column)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.fail("%s %q is not a duration", column, text)
	}
	return d
}
