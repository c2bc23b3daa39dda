// Command evaluate measures how good the choices of auto are on recorded outcomes of models. It reads and decides with the gateway's code.
//
//	go run ./train/evaluate [-dial] DATA.jsonl…          compare with fixed choices
//	go run ./train/evaluate -behaviour ITEMS.jsonl       write the decision for each request
//
// Each line of the data is {"id", "source", "prompt" or "messages", "tools", "scores": {model: 0 to 1}, "costs": {model: dollars},
// "group"}; costs may be missing. Abilities are fitted to the outcomes of four fifths of the groups and used for the rest, because the
// ability table hardly knows the models of the outcomes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
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
	e := &evaluation{catalog: cat, table: predict.NewTable(cat), prices: map[string]*catalog.Price{}, names: map[string]string{}}
	if *behaviour != "" {
		return e.writeBehaviour(out, *behaviour)
	}
	if flags.NArg() == 0 {
		return errors.New("no data given")
	}
	if err := errors.Join(eachRecord(*names, e.addName), eachRecord(*prices, e.addPrice)); err != nil {
		return err
	}
	for _, path := range flags.Args() {
		if err := eachLine(path, e.addOutcome); err != nil {
			return err
		}
	}
	for n := range e.folds {
		e.folds[n] = newFold(e.outcomes, n)
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

var pools = []pool{
	{name: "zeroeval", sources: []string{"zeroeval_gsm", "zeroeval_math_l5", "zeroeval_mmlu_redux", "zeroeval_zebra_grid"}},
	{name: "mmlu_pro", sources: []string{"mmlu_pro"}},
	{name: "gpt-4 or mixtral", sources: []string{"routellm_mmlu", "routellm_gsm8k", "bfcl"}, models: []string{"gpt-4-1106-preview", "mixtral-8x7b-instruct-v0.1"}},
	{name: "routerbench", sources: []string{"routerbench_arc", "routerbench_mbpp", "routerbench_winogrande"}},
	{name: "swebench", sources: []string{"swebench_verified"}},
	{name: "swebench, list prices", sources: []string{"swebench_verified"}, listed: true},
	{name: "mint, list prices", sources: []string{"mint"}, listed: true},
	{name: "tau2, list prices", sources: []string{"tau2"}, listed: true},
}

// knowledge is what the router knows of models and tasks in a comparison.
type knowledge struct {
	name   string
	fitted bool // whether abilities are fitted to outcomes with the family and the difficulty of the benchmarks, not those of the table
	family bool // whether the router is told the family of the benchmark, not reading it from the request
	told   bool // whether the router is told the difficulty of the benchmark as well
}

var stages = []knowledge{
	{"family and difficulty told", true, true, true},
	{"family told, difficulty read", true, true, false},
	{"both read", true, false, false},
	{"both read, ability table", false, false, false},
}

var dial = []float64{0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98}

// goals returns the places on the dial, followed by the named objectives.
func goals() (list []route.Objective) {
	for _, t := range dial {
		list = append(list, route.Objective{Name: fmt.Sprint(t), Tradeoff: t})
	}
	for _, name := range []string{"cost", "quality", "speed"} {
		o, _ := route.NamedObjective(name)
		list = append(list, o)
	}
	return list
}

func (e *evaluation) print(out io.Writer, places bool) error {
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
			cost, quality, speed := &r.goals[len(dial)], &r.goals[len(dial)+1], &r.goals[len(dial)+2]
			fmt.Fprintf(out, "%s, %s: %d tasks, %d models\n", pools[i].name, k.name, len(c.tasks), len(c.models))
			fmt.Fprintf(out, "  over the mix: mean of the dial %v, auto %v, auto:quality %v, auto:speed %v\n", r.mean, r.goals[slices.Index(dial, 0.5)].overMix, quality.overMix, speed.overMix)
			fmt.Fprintf(out, "  over the best model at the same cost: mean of the dial %+.4f\n", r.overOne)
			fmt.Fprintf(out, "  auto:cost: %.2f of the cost of the cheapest model with 80 %% of the best quality; %.2f of the best quality\n", cost.cost/r.cheapest, cost.quality/r.best)
			for j, o := range goals() {
				if p := &r.goals[j]; places {
					fmt.Fprintf(out, "    %-8s quality %.4f $%.6f over the mix %v, over one %+.4f %v\n", o.Name, p.quality, p.cost, p.overMix, p.overOne, p.choices)
				}
			}
		}
	}
	return nil
}
