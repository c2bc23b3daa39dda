// Command evaluate measures how good the choices of auto are on recorded outcomes of models. It reads and decides with the gateway's code.
//
//	go run ./train/evaluate [flags] DATA.jsonl…|DIR   compare with fixed choices
//	go run ./train/evaluate -behaviour ITEMS.jsonl    write the decision for each request
//
// Each line of the data is {"id", "source", "task", "prompt" or "messages", "tools", "scores": {model: 0 to 1}, "costs": {model: dollars},
// "group"}; costs may be missing. Abilities are fitted to the outcomes of four fifths of the groups and used for the rest, because the
// ability table of the gateway hardly knows the models of the outcomes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/route"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	prices := flags.String("prices", "train/prices.csv", "prices of models that the catalog does not list: model,input_usd_per_mtok,output_usd_per_mtok")
	names := flags.String("names", "train/names.csv", "names of models in the data: name,model")
	behaviour := flags.String("behaviour", "", `requests in groups: {"requests": [{"id", "messages", "tools"}]} per line`)
	dial := flags.Bool("dial", false, "print the figures at each place on the dial")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cat, err := catalog.Default()
	if err != nil {
		return err
	}
	if *behaviour != "" {
		return writeBehaviour(out, cat, *behaviour)
	}
	if flags.NArg() == 0 {
		return errors.New("no data given; name .jsonl files or a directory that contains them")
	}
	data := &outcomes{names: map[string]string{}}
	if err := data.readNames(*names); err != nil {
		return err
	}
	e := &evaluation{catalog: cat, outcomes: data}
	if e.prices, err = readPrices(*prices); err != nil {
		return err
	}
	if err := data.read(flags.Args()); err != nil {
		return err
	}
	for n := range e.folds {
		e.folds[n] = newFold(e.rows, n)
	}
	return e.print(out, *dial)
}

// pool is a set of models from which auto chooses for the tasks of the given sources.
type pool struct {
	name    string
	sources []string
	models  []string // nil for all models with outcomes for nearly all tasks
	listed  bool     // whether decisions use list prices although costs are recorded
}

// pools are the pools of the figures in docs/routing.md.
var pools = []pool{
	{name: "zeroeval", sources: []string{"zeroeval_gsm", "zeroeval_math_l5", "zeroeval_mmlu_redux", "zeroeval_zebra_grid"}},
	{name: "mmlu_pro", sources: []string{"mmlu_pro"}},
	{name: "gpt-4, mixtral", sources: []string{"routellm_mmlu", "routellm_gsm8k", "bfcl"}, models: []string{"gpt-4-1106-preview", "mixtral-8x7b-instruct-v0.1"}},
	{name: "routerbench", sources: []string{"routerbench_arc", "routerbench_mbpp", "routerbench_winogrande"}},
	{name: "swebench", sources: []string{"swebench_verified"}},
	{name: "swebench, list prices", sources: []string{"swebench_verified"}, listed: true},
	{name: "mint, list prices", sources: []string{"mint"}, listed: true},
	{name: "tau2, list prices", sources: []string{"tau2"}, listed: true},
}

// objectives are the places on the dial, followed by the named objectives.
func objectives() []route.Objective {
	var list []route.Objective
	for _, t := range dialPlaces {
		list = append(list, route.Objective{Name: "number", Tradeoff: t})
	}
	for _, name := range namedObjectives {
		o, _ := route.NamedObjective(name)
		list = append(list, o)
	}
	return list
}

var (
	dialPlaces      = []float64{0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98}
	namedObjectives = []string{"cost", "quality", "speed"}
)

// knowledge is what the router is told in an evaluation.
type knowledge struct {
	name   string
	fitted bool // whether abilities are fitted to outcomes, not those of the gateway's table
	told   bool // whether abilities are fitted to the family and the difficulty of the benchmarks, not to those that the router reads
	asked  bool // whether the router is told both for a request, and does not read them
}

var stages = []knowledge{
	{"told", true, true, true},
	{"read", true, true, false},
	{"read, refitted", true, false, false},
	{"read, public table", false, false, false},
}

func (e *evaluation) print(out io.Writer, dial bool) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "pool\tknowledge\ttasks\tmodels\tover the mix, mean of the dial\tover one model\tauto\tcost, share of the best model's\tauto:cost, of the cheapest that solves 80 %\tits quality, of the best\tauto:quality\tauto:speed")
	for i := range pools {
		for _, k := range stages {
			c, err := e.compare(&pools[i], k)
			if err != nil {
				return err
			}
			if c == nil {
				continue
			}
			r := c.evaluate()
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%+.4f\t%s\t%.2f–%.2f\t%.2f\t%.2f\t%+.4f\t%+.4f\n", pools[i].name, k.name, len(c.rows), len(c.models),
				r.mean, r.overOne, r.at(0.5), r.dial[0].costShare, r.dial[len(dialPlaces)-1].costShare, r.cheapRatio, r.cheapQuality, r.dial[len(dialPlaces)+1].overMix.value, r.dial[len(dialPlaces)+2].overMix.value)
			if !dial {
				continue
			}
			for j, d := range r.dial {
				fmt.Fprintf(w, "\t  %s\tquality %.4f\t$%.6f\t%s\t%+.4f\t%v\n", c.label(j), d.spend.quality, d.spend.cost, d.overMix, d.overOne, d.picks)
			}
		}
	}
	return w.Flush()
}

func (c *comparison) label(objective int) string {
	if objective < len(dialPlaces) {
		return strconv.FormatFloat(dialPlaces[objective], 'g', -1, 64)
	}
	return "auto:" + namedObjectives[objective-len(dialPlaces)]
}

// usable returns the models with outcomes for nearly all tasks of the pool, and the tasks with outcomes for all of these models.
func (p *pool) usable(all []*outcome, ok func(model string) bool) (rows []*outcome, models []string) {
	const coverage = 0.95
	counts := map[string]int{}
	for _, r := range all {
		if slices.Contains(p.sources, r.source) {
			rows = append(rows, r)
			for m := range r.scores {
				counts[m]++
			}
		}
	}
	for m, n := range counts {
		if float64(n) >= coverage*float64(len(rows)) && (p.models == nil || slices.Contains(p.models, m)) && ok(m) {
			models = append(models, m)
		}
	}
	slices.Sort(models)
	lacks := func(r *outcome) bool {
		return slices.ContainsFunc(models, func(m string) bool { _, ok := r.scores[m]; return !ok })
	}
	return slices.DeleteFunc(rows, lacks), models
}
