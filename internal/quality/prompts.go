package quality

import "fairlead.dev/internal/predict"

// longPrompt is the assumed length of long-context prompts in tokens.
const longPrompt = 40_000

// references lists the reference prompts for each task type. They are typical requests, neither trivial nor demanding for their type.
var references = []struct {
	task    predict.Task
	prompts []string
}{
	{predict.Chat, []string{
		"Write a friendly email to a customer whose delivery is three days late.",
		"Give me five ideas for a team event in winter with a budget of 500 euros.",
		"Write a short product description for a waterproof hiking backpack.",
		"My colleague takes credit for my work. How should I bring this up with my manager?",
		"Rewrite this paragraph so that it sounds more confident: I think we might possibly be able to deliver the report by Friday.",
		"Suggest a weekly meal plan for a family of four that avoids dairy.",
	}},
	{predict.Code, []string{
		"Write a Python function that merges overlapping intervals in a list of tuples.",
		"Fix this Go function:\n```go\nfunc sum(xs []int) int {\n\tfor i := 0; i <= len(xs); i++ {\n\t\ttotal += xs[i]\n\t}\n}\n```",
		"Write a SQL query that returns the three customers with the highest revenue in each region.",
		"Refactor this JavaScript class to use async functions instead of callbacks and add unit tests.",
		"Implement an LRU cache in TypeScript with get and put in constant time.",
		"Why does this React component render in an infinite loop? useEffect(() => { setCount(count + 1) }, [count])",
	}},
	{predict.Maths, []string{
		"A train travels 120 km in 1.5 hours and then 80 km in 50 minutes. What is its average speed in km/h?",
		"Solve the equation 3x^2 - 12x + 9 = 0 for x.",
		"A shop sells 240 apples in 6 boxes. Each box costs 14 dollars. How much does one apple cost?",
		"Compute the integral of x * e^x from 0 to 1.",
		"Calculate the probability that the sum of two fair dice is at least 9.",
		"A tank fills in 4 hours with one pipe and in 6 hours with another. How many hours do both pipes need together?",
	}},
	{predict.Reasoning, []string{
		"Three friends own a cat, a dog and a fish. Anna does not own the cat. Ben is allergic to fur. Who owns which animal? Solve the puzzle step by step.",
		"If all bloops are razzies and some razzies are lazzies, does it follow that some bloops are lazzies? Explain the logic.",
		"Solve this logic puzzle step by step: one of eight balls is heavier, and you may use the scales twice. Explain your reasoning.",
		"Logic puzzle: five houses in a row have different colours. The green house is left of the white house. Which conclusion follows?",
		"Solve this riddle: the more you take, the more you leave behind. Explain your reasoning.",
		"A man looks at a portrait and says: brothers and sisters I have none, but that man's father is my father's son. Deduce whom the portrait shows.",
	}},
	{predict.Knowledge, []string{
		"What is the capital of Mongolia?",
		"Who wrote the novel One Hundred Years of Solitude?",
		"Which element has the atomic number 26?",
		"When did the Berlin Wall fall?",
		"What is the largest moon of Saturn?",
		"Which enzyme breaks down starch in saliva?",
	}},
	{predict.Translation, []string{
		"Translate the following sentence into German: The invoice must be paid within thirty days.",
		"Translate to French: Our office is closed on public holidays.",
		"Translate from English to Spanish: The package was returned because the address was wrong.",
		"Translate this text into Japanese: The update fixes the problem with the printer.",
		"Translate into Polish and write nothing but the translation: The museum opens at nine in the morning.",
		"Translate the following into English: Die Besprechung wurde auf nächsten Dienstag verschoben.",
	}},
	{predict.Extraction, []string{
		"Extract the names of all people and companies from the following text: Maria Lopez of Northwind met Tom Berg of Contoso.",
		"Summarize the following article in two sentences: The city council approved a new tram line on Monday. Construction starts next spring and takes four years.",
		"Classify the sentiment of this review as positive, negative or neutral: The room was clean, but the staff was rude.",
		"Extract the invoice number and the total amount as JSON: Invoice 2024-118, net 420.00 EUR, total 499.80 EUR.",
		"Summarize this support ticket: The customer cannot sign in since the update and has already reset the password twice.",
		"Classify the following email as spam or not spam: You have won a free cruise. Reply with your bank details.",
	}},
	{predict.ToolUse, []string{
		"Look up the order 8812 and refund the damaged item.",
		"Find the failing test in this repository and fix it.",
		"Book a meeting with Anna next Tuesday afternoon and send her an invitation.",
		"Check the weather in Oslo and tell me whether I need an umbrella tomorrow.",
		"Update the dependency to the latest version, run the tests and open a pull request.",
		"Search the knowledge base for the return policy and answer the customer.",
	}},
	{predict.Vision, []string{
		"What does this chart show?",
		"Read the text on this receipt and list the items with their prices.",
		"Describe the defect that is visible on the circuit board.",
		"Which of the two screenshots matches the design?",
		"Count the people in this photo.",
		"Convert this diagram into a list of steps.",
	}},
	{predict.LongContext, []string{
		"Which of these contracts allow early termination? Quote the clauses.",
		"Summarize the findings of the attached report in one page.",
		"Compare the two annual reports and list the differences in revenue by segment.",
		"Find every place in this log where a connection was refused and explain the cause.",
		"Answer the question from the documents above: who approved the budget in March?",
		"List all obligations of the tenant in this lease.",
	}},
}

// Prompts returns the reference prompts for a task type.
func Prompts(task predict.Task) []predict.Prompt {
	var list []predict.Prompt
	for _, r := range references {
		if r.task != task {
			continue
		}
		for _, text := range r.prompts {
			p := predict.Prompt{Text: text, Messages: 1, Tools: task == predict.ToolUse, Images: task == predict.Vision}
			if task == predict.LongContext {
				p.Tokens = longPrompt
			}
			list = append(list, p)
		}
	}
	return list
}
