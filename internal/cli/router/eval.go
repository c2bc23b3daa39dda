package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/route"
)

// evalFlags select the models and data to evaluate.
type evalFlags struct {
	predictions string
	abilities   string
	predictor   string
	models      []string
	pairs       []string
	prices      string
	names       string
	tradeoff    float64
	behaviour   string
}

func newRouterEval(c *cli.Console, o *cli.Options) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use: "eval DATA.jsonl…|DIR", Short: "Evaluate predictions and the choices of auto with recorded outcomes",
		Long: `Evaluate predictions and the choices of auto with recorded outcomes

Each line of the data is {"id", "source", "prompt", "scores": {model: 0 to 1}, "costs": {model: dollars}}; costs may be missing.
For pairs of a strong and a weak model: APGR is the share of the quality gap that routing recovers, over all shares of strong
calls (random routing has 0.5); CPT50 and CPT80 are the shares of strong calls that recover 50 % and 80 % of it. With costs: AIQ
is the mean quality over all budgets, next to the AIQ of the best mixture of single models and of a router that knows the outcomes.

AUTO is the result of plain "auto" with the decisions of the gateway, at recorded costs or list prices, next to the best fixed mixture
of models at the same cost, the cheapest and the best model, a random choice, and a router that knows the outcomes. FLIPS is the
share of choices that a polite frame around the prompt changes. CALIBRATION compares predicted and observed success.

LENGTHS compares expected and recorded outputs ("out_chars": {model: characters} or "costs") as the larger value divided by the smaller one,
next to a constant length of 400 tokens.

BEHAVIOUR is the share of groups of requests whose decisions satisfy a relation. Each line of the file is {"id", "relation", "requests":
[{"id", "role", "messages", "tools"}]}; the relations are same (equal choice), inherit (a short reply has the probability of its task),
easier and harder, housekeeping (a cheap model), trouble and recovered (identical failing tool calls, then good ones). The
candidates are the catalog models, or the models in --models.

The command computes the predictions unless --predictions names a file with them. Figures are too good on data that the predictor
was trained with: for such data, use predictions from cross-validation or a predictor trained without the data
("train/train.py --hold-out").`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && f.behaviour == "" {
				return cli.Usagef("run  "+cmd.CommandPath()+" outcomes/", "no data given; name .jsonl files or a directory that contains them")
			}
			return nil
		},
		Example: `  fairlead router eval outcomes/
  fairlead router eval outcomes/mmlu.jsonl --pair mmlu:gpt-4o/llama-3.1-8b-instruct
  fairlead router eval held/ --predictor held/predictor.bin --prices prices.csv
  fairlead router eval --behaviour relations.jsonl
  fairlead router eval outcomes/ --predictions folds.jsonl --json | jq .pooled.apgr`,
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := f.run(cmd.Context(), args)
			if err != nil {
				return err
			}
			if o.JSON {
				return c.PrintJSON(report)
			}
			return showReport(c, o, report)
		},
	}
	cmd.Flags().StringVar(&f.predictions, "predictions", "", `file with predictions to evaluate, one {"id", "scores"} per line, as "router score" writes them`)
	cmd.Flags().StringVar(&f.abilities, "abilities", "", "file with benchmark scores of models: model,benchmark,value")
	cmd.Flags().StringVar(&f.predictor, "predictor", "", "predictor file written by train/train.py (default: the one in the binary)")
	cmd.Flags().StringSliceVar(&f.models, "models", nil, "predict only these models")
	cmd.Flags().StringVar(&f.prices, "prices", "", "file with prices of models that the catalog does not list: model,input_usd_per_mtok,output_usd_per_mtok")
	cmd.Flags().StringVar(&f.names, "names", "", "file that maps names in the data to model names: name,model")
	cmd.Flags().Float64Var(&f.tradeoff, "tradeoff", 0.5, "trade-off of auto from 0 (cheapest) to 1 (best)")
	cmd.Flags().StringVar(&f.behaviour, "behaviour", "", "file with requests and the relation that their decisions must satisfy")
	cmd.Flags().StringArrayVar(&f.pairs, "pair", nil, "evaluate this pair, SOURCE:STRONG/WEAK, instead of the default pairs; may be repeated")
	return cmd
}

func (f *evalFlags) run(ctx context.Context, args []string) (protocol.Report, error) {
	plan, err := f.plan()
	if err != nil {
		return protocol.Report{}, err
	}
	paths, err := dataFiles(args)
	if err != nil {
		return protocol.Report{}, err
	}
	objective, err := route.ParseObjective("auto", strconv.FormatFloat(f.tradeoff, 'g', -1, 64))
	if err != nil {
		return protocol.Report{}, cli.Usagef("write it as  --tradeoff 0.5", "--tradeoff %g is not between 0 and 1", f.tradeoff)
	}
	prices, err := readPrices(f.prices)
	if err != nil {
		return protocol.Report{}, err
	}
	e := &evaluation{plan: plan, predictions: protocol.Predictions{}, prompts: map[string]asked{}}
	if e.names, err = readNames(f.names); err != nil {
		return protocol.Report{}, err
	}
	if f.predictions != "" {
		if err := e.readPredictions(ctx, f.predictions); err != nil {
			return protocol.Report{}, err
		}
	} else if e.guess, err = f.guesser(); err != nil {
		return protocol.Report{}, err
	}
	for _, path := range paths {
		if err := e.readOutcomes(ctx, path); err != nil {
			return protocol.Report{}, err
		}
	}
	report := protocol.Evaluate(e.rows, e.predictions, plan)
	if e.guess == nil {
		return report, nil
	}
	report.Lengths = e.lengths(prices)
	if report.Auto, err = e.auto(ctx, objective, prices); err != nil || f.behaviour == "" {
		return report, err
	}
	report.Behaviour, err = e.behaviour(ctx, f.behaviour, f.models)
	return report, err
}

// plan returns the default plan, or a plan for the model pairs given with --pair.
func (f *evalFlags) plan() (protocol.Plan, error) {
	plan := protocol.Standard()
	if len(f.pairs) == 0 {
		return plan, nil
	}
	plan.Pairs = nil
	for _, text := range f.pairs {
		source, models, ok1 := strings.Cut(text, ":")
		slash := strings.LastIndexByte(models, '/') // the name of the strong model can contain a slash
		if !ok1 || source == "" || slash < 1 || slash == len(models)-1 {
			return plan, cli.Usagef("write it as  --pair mmlu:gpt-4o/gpt-4o-mini", "--pair %q does not have the form SOURCE:STRONG/WEAK", text)
		}
		plan.Pairs = append(plan.Pairs, protocol.Pair{Source: source, Strong: ability.Canonical(models[:slash]), Weak: ability.Canonical(models[slash+1:])})
	}
	plan.Pooled = plan.Pairs[0]
	return plan, nil
}

// dataFiles returns the named files and the files in the named directories.
func dataFiles(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, fmt.Errorf("read the outcomes: %w", err)
		}
		if !info.IsDir() {
			paths = append(paths, arg)
			continue
		}
		found, err := filepath.Glob(filepath.Join(arg, "*.jsonl"))
		if err != nil || len(found) == 0 {
			return nil, errors.Join(err, fmt.Errorf("read the outcomes: %s contains no .jsonl files", arg))
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// evaluation collects outcomes and predictions. Lines are decoded on all cores.
type evaluation struct {
	plan        protocol.Plan
	guess       *guesser // predicts success probabilities; nil when the predictions are given
	mu          sync.Mutex
	rows        []protocol.Row
	predictions protocol.Predictions
	prompts     map[string]asked  // prompts of the pools and of the length evaluation, by row ID
	names       map[string]string // model names by the lower-case name in the data files
}

// outcomeLine is one line of a data file: a prompt with the recorded outcomes.
type outcomeLine struct {
	Source       string             `json:"source"`
	Scores       map[string]float64 `json:"scores"`
	Costs        map[string]float64 `json:"costs"`
	Chars        map[string]float64 `json:"out_chars"`
	Contaminated bool               `json:"contaminated"`
	Group        string             `json:"group"`
}

func (e *evaluation) readOutcomes(ctx context.Context, path string) error {
	return e.readFile(ctx, path, func(line []byte) error {
		var in outcomeLine
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		if in.Source == "" || len(in.Scores) == 0 {
			return errors.New(`"source" or "scores" is missing`)
		}
		wanted, all := e.wanted(in.Source)
		if len(wanted) == 0 && !all {
			return nil
		}
		id, prompt, err := parsePrompt(line)
		if err != nil {
			return err
		}
		row := protocol.Row{ID: string(id), Source: in.Source, Scores: e.canonical(in.Scores), Costs: e.canonical(in.Costs), Chars: e.canonical(in.Chars), Contaminated: in.Contaminated, Group: in.Group}
		if all {
			wanted = slices.Collect(maps.Keys(row.Scores))
		}
		var guessed map[string]float64
		if e.guess != nil {
			features := e.guess.roster.predictor.Features(prompt.prompt)
			guessed = make(map[string]float64, len(wanted))
			for _, name := range wanted {
				if a := e.guess.ability(name); a != nil {
					guessed[name] = predict.Success(&features, a).Probability
				}
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.rows = append(e.rows, row)
		if e.guess == nil {
			return nil
		}
		e.predictions[row.ID] = guessed
		inPool := slices.ContainsFunc(e.plan.Pools, func(p protocol.Pool) bool { return slices.Contains(p.Sources, row.Source) })
		if inPool || slices.Contains(e.plan.Lengths, row.Source) {
			e.prompts[row.ID] = prompt
		}
		return nil
	})
}

// wanted returns the models of a source that the plan needs. all is true if the plan needs every model: when costs are evaluated,
// or for a pool without a model list.
func (e *evaluation) wanted(source string) (models []string, all bool) {
	for _, p := range e.plan.Pairs {
		if p.Source == source {
			models = append(models, p.Strong, p.Weak)
		}
	}
	for _, p := range e.plan.Pools {
		if !slices.Contains(p.Sources, source) {
			continue
		}
		if p.Models == nil {
			return models, true
		}
		models = append(models, p.Models...)
	}
	return models, slices.ContainsFunc(e.plan.Costed, func(c protocol.Costed) bool { return slices.Contains(c.Sources, source) })
}

func (e *evaluation) canonical(byName map[string]float64) map[string]float64 {
	renamed := make(map[string]float64, len(byName))
	for name, v := range byName {
		if model, ok := e.names[strings.ToLower(name)]; ok {
			name = model
		}
		renamed[ability.Canonical(name)] = v
	}
	return renamed
}

func (e *evaluation) readPredictions(ctx context.Context, path string) error {
	return e.readFile(ctx, path, func(line []byte) error {
		var in struct {
			ID     json.RawMessage    `json:"id"`
			Scores map[string]float64 `json:"scores"`
		}
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		if len(in.ID) == 0 {
			return errNoID
		}
		scores := e.canonical(in.Scores)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.predictions[string(in.ID)] = scores
		return nil
	})
}

func (e *evaluation) readFile(ctx context.Context, path string, read func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the outcomes: %w", err)
	}
	defer f.Close()
	before := len(e.rows)
	err = eachLine(ctx, f, func(line, out []byte) ([]byte, error) { return out, read(line) }, func([]byte) error { return nil })
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	slices.SortFunc(e.rows[before:], func(a, b protocol.Row) int { return strings.Compare(a.ID, b.ID) }) // goroutines finish in any order
	return nil
}

// guesser predicts success probabilities. Unknown models have no prediction.
type guesser struct {
	roster *roster
	only   []string
	mu     sync.Mutex
	known  map[string]*predict.Ability // abilities by model name; nil for unknown models
}

func (f *evalFlags) guesser() (*guesser, error) {
	known, err := newRoster(f.abilities, f.predictor)
	if err != nil {
		return nil, err
	}
	g := &guesser{roster: known, known: map[string]*predict.Ability{}}
	models := f.models
	if len(models) == 0 {
		return g, nil
	}
	if _, err := known.rate(models); err != nil {
		return nil, err
	}
	for _, name := range models {
		g.only = append(g.only, ability.Canonical(name))
	}
	return g, nil
}

func (g *guesser) ability(name string) *predict.Ability {
	if len(g.only) > 0 && !slices.Contains(g.only, name) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	a, seen := g.known[name]
	if !seen {
		if found, ok := g.roster.ability(name); ok {
			a = &found
		}
		g.known[name] = a
	}
	return a
}
