package simulator

import (
	"fmt"
	"strings"

	"fairlead.dev/internal/simulator/openai"
)

// sentences returns the sentences that simulated responses consist of.
func sentences() []string {
	return []string{
		"No language model read your prompt; the text is put together from a fixed set of sentences.",
		"The same prompt always gets the same answer, which makes routing, retries and costs easy to follow.",
		"Prices, latencies and token counts behave like those of a hosted model, but nothing is billed.",
		"You can see in the request log which model was chosen, why, and what the alternatives would have cost.",
		"To get real answers, add the key of a provider and repeat the same request without changing your code.",
		"Long prompts that begin alike are counted as cached input from the second request on.",
		"Ask for one of your tools by name, and the answer will be a call to it.",
		"Ask for JSON with a schema, and the answer will satisfy the schema.",
		"Faults can be switched on per request, for instance with the metadata label simulate set to 429.",
		"When one model fails, another one takes over before the first token, and the log shows both attempts.",
		"A stream arrives token by token at the pace of the model that was chosen.",
		"Smaller models answer sooner and cost less; larger ones have the higher quality in the catalog.",
		"Nothing you write here leaves this process.",
		"Policies, budgets and limits apply to simulated requests exactly as to real ones.",
		"If this were a real answer, the details you asked for would follow here.",
		"Try a longer question, an image or a tool to see other routes being taken.",
	}
}

const quoteRunes = 80

// quote returns the beginning of text on one line.
func quote(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= quoteRunes {
		return string(runes)
	}
	return string(runes[:quoteRunes]) + "…"
}

// prose returns the simulated response to a conversation. Only its last line depends on the model.
func (q *chatRequest) prose(model string, choice int) string {
	d := &openai.Rand{State: q.seed() + uint64(choice)}
	var out strings.Builder
	fmt.Fprintf(&out, "SIMULATED answer to “%s”.", quote(q.lastUser()))
	images := 0
	for _, m := range q.Messages {
		images += len(m.Content.Images)
	}
	if images == 1 {
		out.WriteString(" You sent 1 image.")
	} else if images > 1 {
		fmt.Fprintf(&out, " You sent %d images.", images)
	}
	if last := q.Messages[len(q.Messages)-1]; last.Role == "tool" {
		fmt.Fprintf(&out, " The tool answered “%s”.", quote(last.Content.Text))
	}
	pool := sentences()
	wanted := 3 + d.IntN(6) + min(len(q.lastUser())/400, 6)
	for i := range min(wanted, len(pool)) {
		pick := i + d.IntN(len(pool)-i)
		pool[i], pool[pick] = pool[pick], pool[i]
		separator := " "
		if i > 0 && i%4 == 0 {
			separator = "\n\n"
		}
		out.WriteString(separator + pool[i])
	}
	fmt.Fprintf(&out, "\n\n(SIMULATED by %s)", model)
	return out.String()
}

// thoughts returns the reasoning text of a reasoning model.
func (q *chatRequest) thoughts() string {
	d := &openai.Rand{State: openai.Mix(q.seed())}
	steps := map[string]int{"none": 0, "minimal": 1, "low": 3, "": 8, "medium": 8, "high": 16, "xhigh": 24, "max": 32}
	n, ok := steps[q.ReasoningEffort]
	if !ok {
		n = steps["medium"]
	}
	if n == 0 {
		return ""
	}
	ideas := []string{
		"First I restate the question.", "Then I look for the real question.", "I check the obvious answer against it.",
		"I consider an example.", "I consider the opposite.", "I compare two ways to put it.", "I look for a mistake so far.",
		"That seems consistent.",
	}
	var out strings.Builder
	out.WriteString("SIMULATED reasoning.")
	for range n {
		out.WriteString(" " + ideas[d.IntN(len(ideas))])
	}
	return out.String()
}
