package router

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/learn"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/protocol"
	"fairlead.dev/internal/route"
)

// learningFlags holds the settings of a learning simulation.
type learningFlags struct {
	evalFlags
	outcomes int
	share    float64
	explore  float64
	compare  bool
	drift    bool
	runs     int
	every    int

	unrecorded int
}

func newRouterLearning(c *cli.Console, o *cli.Options) *cobra.Command {
	f := learningFlags{evalFlags: evalFlags{tradeoff: 0.5}}
	cmd := &cobra.Command{
		Use: "learning DATA.jsonl…|DIR", Short: "Replay recorded outcomes as traffic and evaluate what the router learns",
		Long: `Replay recorded outcomes as traffic and evaluate what the router learns

The data is the same as for "router eval". For each pool of models, half of the prompts is traffic of "auto", in random order and
repeated as often as needed. A share of the requests has an outcome: the recorded score of the model that served it. The router learns
from the outcomes in the same way as a gateway. The other half of the prompts, which share no group with the traffic, is then routed by
the static router at several trade-offs and by the learned router.

LEARNED is the mean quality of the learned router over trade-offs from 0.1 to 0.9, STATIC the mean quality of the best mixture of the static
router's trade-offs at the same costs; GAIN is the difference. LOSS is the mean loss of a run during its traffic, as a percentage of the
static router's spending, and WORST LOSS is the largest: the quality and cost of both routers are compared, at the value that auto
gives to quality.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("run  "+cmd.CommandPath()+" outcomes/", "no data given; name .jsonl files or a directory that contains them")
			}
			return nil
		},
		Example: `  fairlead router learning outcomes/
  fairlead router learning outcomes/ --outcomes 1000 --share 0.05 --runs 20
  fairlead router learning outcomes/ --drift --runs 100 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			results, err := f.simulate(cmd.Context(), args)
			if err != nil {
				return err
			}
			if o.JSON {
				return c.PrintJSON(results)
			}
			return showLearning(c, o, results)
		},
	}
	cmd.Flags().IntVar(&f.outcomes, "outcomes", 1000, "number of outcomes in the traffic")
	cmd.Flags().Float64Var(&f.share, "share", 0.05, "share of requests with an outcome")
	cmd.Flags().Float64Var(&f.explore, "explore", 0, "share of the spending that is used for trials of other models")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "use verdicts of comparisons with the most expensive model instead of ratings")
	cmd.Flags().BoolVar(&f.drift, "drift", false, "swap the outcomes of the best and the worst model after half of the traffic")
	cmd.Flags().IntVar(&f.runs, "runs", 5, "number of runs with different traffic")
	cmd.Flags().IntVar(&f.unrecorded, "unrecorded", 0, "number of models, at random in each run, whose recorded outcomes the predictor does not use")
	cmd.Flags().IntVar(&f.every, "every", 50, "outcomes after which the router learns again")
	cmd.Flags().Float64Var(&f.tradeoff, "tradeoff", 0.5, "trade-off of auto from 0 (cheapest) to 1 (best)")
	cmd.Flags().StringVar(&f.predictor, "predictor", "", "predictor file written by train/train.py (default: the one in the binary)")
	cmd.Flags().StringVar(&f.abilities, "abilities", "", "file with benchmark scores of models: model,benchmark,value")
	cmd.Flags().StringVar(&f.prices, "prices", "", "file with prices of models that the catalog does not list: model,input_usd_per_mtok,output_usd_per_mtok")
	cmd.Flags().StringVar(&f.names, "names", "", "file that maps names in the data to model names: name,model")
	return cmd
}

// learningResult is the simulation result for a pool.
type learningResult struct {
	Name    string  `json:"name"`
	Prompts int     `json:"prompts"` // number of prompts in the traffic
	Models  int     `json:"models"`
	Runs    int     `json:"runs"`
	Learned float64 `json:"learned"`        // mean quality of the learned router over trade-offs from 0.1 to 0.9
	Static  float64 `json:"static"`         // mean quality of the static router at the same costs
	Gain    float64 `json:"gain"`           // mean of Learned minus Static
	Low     float64 `json:"gain_low"`       // smallest gain in any run
	Active  float64 `json:"active"`         // share of runs whose learned state was in use at the end
	Loss    float64 `json:"loss_mean"`      // mean loss over the simulated traffic as a share of the static router's spending; negative for a gain
	Worst   float64 `json:"loss_worst"`     // largest loss in any run
	Tried   float64 `json:"explored_spent"` // largest cost of trials in any run as a share of the static router's spending
}

func showLearning(c *cli.Console, o *cli.Options, results []learningResult) error {
	t := &cli.Table{Columns: []cli.Column{{Title: "POOL"}}}
	for _, title := range []string{"PROMPTS", "MODELS", "RUNS", "LEARNED", "STATIC", "GAIN", "WORST GAIN", "ACTIVE", "LOSS", "WORST LOSS", "TRIALS"} {
		t.Columns = append(t.Columns, cli.Column{Title: title, Right: true})
	}
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 2, 64) + " %" }
	for _, r := range results {
		t.Row(r.Name, strconv.Itoa(r.Prompts), strconv.Itoa(r.Models), strconv.Itoa(r.Runs), thousandths(r.Learned), thousandths(r.Static),
			fmt.Sprintf("%+.4f", r.Gain), fmt.Sprintf("%+.4f", r.Low), share(r.Active), percent(r.Loss), percent(r.Worst), percent(r.Tried))
	}
	return c.PrintTable(o, t)
}

// simulate runs the simulation for each pool in the plan.
func (f *learningFlags) simulate(ctx context.Context, args []string) ([]learningResult, error) {
	paths, err := dataFiles(args)
	if err != nil {
		return nil, err
	}
	objective, err := route.ParseObjective("auto", strconv.FormatFloat(f.tradeoff, 'g', -1, 64))
	if err != nil {
		return nil, cli.Usagef("write it as  --tradeoff 0.5", "--tradeoff %g is not between 0 and 1", f.tradeoff)
	}
	prices, err := readPrices(f.prices)
	if err != nil {
		return nil, err
	}
	e := &evaluation{plan: protocol.Standard(), predictions: protocol.Predictions{}, prompts: map[string]asked{}}
	if e.names, err = readNames(f.names); err != nil {
		return nil, err
	}
	if e.guess, err = f.guesser(); err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := e.readOutcomes(ctx, path); err != nil {
			return nil, err
		}
	}
	var results []learningResult
	for _, pool := range e.plan.Pools {
		s, err := newSimulation(e, pool, objective, prices)
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		r, err := s.run(ctx, f)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// simulation is a pool of models with two sets of prompts. The router learns from the traffic prompts, and its quality is
// measured on the judged prompts.
type simulation struct {
	name      string
	models    []string
	decider   *decider
	without   func(hidden []string) *decider // returns a decider without the recorded outcomes of the hidden models
	traffic   []simPrompt
	judged    []simPrompt
	objective route.Objective
	static    []protocol.Spend // results of the static router on the judged prompts, by trade-off
}

// simPrompt is a prompt with the outcome and the cost of each model.
type simPrompt struct {
	id     string
	input  route.Input
	scores []float64
	costs  []float64
}

func newSimulation(e *evaluation, pool protocol.Pool, o route.Objective, prices map[string]*catalog.Price) (*simulation, error) {
	rows, models, price := e.poolOf(&pool, prices)
	const minRows = 100
	if len(models) < 2 || len(rows) < minRows {
		return nil, nil //nolint:nilnil // a nil result means that the data has no such pool
	}
	roster := e.guess.roster
	s := &simulation{name: pool.Name, models: models, decider: newDecider(roster, o, models, price, recordedEffort), objective: o}
	s.without = func(hidden []string) *decider {
		return newDeciderBy(roster, o, models, price, recordedEffort, func(name string) predict.Ability {
			if slices.Contains(hidden, name) {
				return roster.unrecorded(name)
			}
			a, _ := roster.ability(name)
			return a
		})
	}
	recorded := protocol.HasCosts(rows, models)
	for _, r := range rows {
		a := e.prompts[r.ID]
		p := simPrompt{id: r.ID, input: s.decider.input(&a)}
		d, err := route.Decide(&p.input, s.decider.snapshot, route.Conditions{})
		if err != nil {
			return nil, fmt.Errorf("compute the routing decision for %s: %w", r.ID, err)
		}
		for _, m := range models {
			cost := r.Costs[m]
			if !recorded {
				priced := func(c route.Candidate) bool { return c.Model == m && c.Price != nil }
				if k := slices.IndexFunc(d.Candidates, priced); k >= 0 {
					cost = d.Candidates[k].Price.Dollars()
				}
			}
			p.scores, p.costs = append(p.scores, r.Scores[m]), append(p.costs, cost)
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(cmp.Or(r.Group, r.ID)))
		if h.Sum32()%2 == 0 {
			s.traffic = append(s.traffic, p)
		} else {
			s.judged = append(s.judged, p)
		}
	}
	if len(s.traffic) == 0 || len(s.judged) == 0 {
		return nil, nil //nolint:nilnil // a nil result means that one of the two sets has no prompts
	}
	s.judgeStatic()
	return s, nil
}

// judgeStatic computes the quality and the cost of the static router on the judged prompts, for each trade-off.
func (s *simulation) judgeStatic() {
	s.static = nil
	for step := 0; step <= 20; step++ {
		s.static = append(s.static, s.spend(s.judged, float64(step)/20, nil))
	}
}

// hide returns the simulation without the recorded outcomes of n random models.
func (s *simulation) hide(n int, random *rand.Rand) *simulation {
	hidden := *s
	var names []string
	for _, k := range random.Perm(len(s.models))[:min(n, len(s.models))] {
		names = append(names, s.models[k])
	}
	hidden.decider = s.without(names)
	hidden.judgeStatic()
	return &hidden
}

func (s *simulation) decide(in *route.Input, c *feedback.Corrections) *route.Decision {
	var conditions route.Conditions
	if c != nil {
		conditions.Corrections = c
	}
	d, err := route.Decide(in, s.decider.snapshot, conditions)
	if err != nil {
		panic(err) // unreachable: the same prompt was decided before
	}
	return d
}

// spend returns the mean quality and cost over prompts.
func (s *simulation) spend(prompts []simPrompt, tradeoff float64, c *feedback.Corrections) protocol.Spend {
	var total protocol.Spend
	for i := range prompts {
		in := prompts[i].input
		in.Objective = route.Objective{Name: "number", Tradeoff: tradeoff}
		k := slices.Index(s.models, s.decide(&in, c).Candidates[0].Model)
		total.Quality += prompts[i].scores[k]
		total.Cost += prompts[i].costs[k]
	}
	n := float64(len(prompts))
	return protocol.Spend{Quality: total.Quality / n, Cost: total.Cost / n}
}

// staticAt returns the quality that the best mixture of the static router's trade-offs achieves at the given mean cost.
func (s *simulation) staticAt(cost float64) float64 {
	best := 0.0
	for _, a := range s.static {
		if a.Cost <= cost {
			best = math.Max(best, a.Quality)
		}
		for _, b := range s.static {
			if a.Cost <= cost && b.Cost > cost {
				share := (cost - a.Cost) / (b.Cost - a.Cost)
				best = math.Max(best, a.Quality+share*(b.Quality-a.Quality))
			}
		}
	}
	if best == 0 { // cost is below that of the cheapest trade-off
		best = slices.MinFunc(s.static, func(a, b protocol.Spend) int { return cmp.Compare(a.Cost, b.Cost) }).Quality
	}
	return best
}

// run runs all simulations for a pool.
func (s *simulation) run(ctx context.Context, f *learningFlags) (learningResult, error) {
	r := learningResult{Name: s.name, Prompts: len(s.traffic), Models: len(s.models), Low: math.Inf(1), Worst: math.Inf(-1)}
	for run := range f.runs {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		random := rand.New(rand.NewPCG(uint64(run), 7))
		s := s
		if f.unrecorded > 0 {
			s = s.hide(f.unrecorded, rand.New(rand.NewPCG(uint64(run), 8)))
		}
		t := &simTraffic{simulation: s, flags: f, random: random}
		t.serve()
		learned, static := 0.0, 0.0 // mean qualities at the same costs, over trade-offs from 0.1 to 0.9
		const steps = 9
		for step := 1; step <= steps; step++ {
			spend := s.spend(s.judged, float64(step)/(steps+1), t.corrections)
			learned += spend.Quality / steps
			static += s.staticAt(spend.Cost) / steps
		}
		r.Runs++
		r.Learned += learned
		r.Static += static
		r.Gain += learned - static
		r.Low = math.Min(r.Low, learned-static)
		if t.corrections != nil && len(t.corrections.Abilities) > 0 {
			r.Active++
		}
		loss := t.lost / t.spent
		r.Loss += loss
		r.Worst = math.Max(r.Worst, loss)
		r.Tried = math.Max(r.Tried, t.tried/t.spent)
	}
	n := float64(r.Runs)
	r.Learned, r.Static, r.Gain, r.Active, r.Loss = r.Learned/n, r.Static/n, r.Gain/n, r.Active/n, r.Loss/n
	return r, nil
}

// simTraffic is the traffic of one run.
type simTraffic struct {
	*simulation
	flags       *learningFlags
	random      *rand.Rand
	outcomes    []learn.Outcome
	corrections *feedback.Corrections
	spent       float64 // amount that the static router spent
	lost        float64 // loss in dollars of the learned router compared with the static router
	tried       float64 // cost of trials
}

// simStart is the time of the first request. The traffic spans simDays days.
var simStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const simDays = 30

func (t *simTraffic) serve() {
	n := int(float64(t.flags.outcomes) / t.flags.share)
	best, worst := t.extremes(func(p *simPrompt) []float64 { return p.scores })
	baseline, _ := t.extremes(func(p *simPrompt) []float64 { return p.costs })
	// value is the value of one percentage point of quality in dollars. At the default trade-off, auto pays 0.2 times the reference
	// cost for a percentage point. The mean cost of the static router is used as the reference cost.
	reference := t.spend(t.traffic[:min(len(t.traffic), 2000)], t.objective.Tradeoff, nil).Cost
	value := 0.2 * t.objective.Tradeoff / math.Max(1-t.objective.Tradeoff, 1e-9) * reference
	for i := range n {
		p := t.traffic[t.random.IntN(len(t.traffic))]
		scores := p.scores
		if t.flags.drift && i >= n/2 {
			scores = slices.Clone(p.scores)
			scores[best], scores[worst] = scores[worst], scores[best]
		}
		at := simStart.Add(time.Duration(float64(i) / float64(n) * simDays * 24 * float64(time.Hour)))
		in := p.input
		in.Objective = t.objective
		static := slices.Index(t.models, t.decide(&in, nil).Candidates[0].Model)
		if t.flags.explore > 0 {
			in.Explore, in.Draw, in.Trial = t.flags.explore, t.random.Float64(), &route.Trial{}
		}
		d := t.decide(&in, t.corrections)
		k := slices.Index(t.models, d.Candidates[0].Model)
		t.spent += p.costs[static]
		t.lost += 100*value*(scores[static]-scores[k]) + p.costs[k] - p.costs[static]
		if d.Explored {
			t.tried += p.costs[k]
		}
		if t.random.Float64() >= t.flags.share {
			continue
		}
		x := learn.Outcome{
			Request: strconv.Itoa(i), At: at, Kind: learn.Rated, Model: t.models[k], Task: in.Features.Task, Skills: in.Features.Skills, Value: scores[k], Weight: 1,
		}
		if t.flags.compare {
			x.Kind, x.Other, x.Value = learn.Compared, t.models[baseline], scores[k]-scores[baseline]
		}
		t.outcomes = append(t.outcomes, x)
		if len(t.outcomes)%t.flags.every == 0 {
			t.learn(at)
		}
	}
	t.learn(simStart.Add(simDays * 24 * time.Hour))
}

// learn computes the corrections in the same way as a gateway.
func (t *simTraffic) learn(now time.Time) {
	state := learn.Fit(t.outcomes, learn.Options{
		Base: t.decider.snapshot.Ability, HalfLife: 30 * 24 * time.Hour, Today: now.Truncate(24 * time.Hour), MinVerdicts: feedback.MinVerdicts, Shared: true, Guard: true,
	})
	c, err := feedback.FromState(&state)
	if err != nil {
		panic(err) // the state holds finite numbers only
	}
	t.corrections = c
}

// extremes returns the indexes of the models with the highest and the lowest mean of the given figure over the traffic.
func (t *simTraffic) extremes(figures func(*simPrompt) []float64) (best, worst int) {
	means := make([]float64, len(t.models))
	for i := range t.traffic {
		for k, v := range figures(&t.traffic[i]) {
			means[k] += v
		}
	}
	for k := range means {
		if means[k] > means[best] {
			best = k
		}
		if means[k] < means[worst] {
			worst = k
		}
	}
	return best, worst
}
