package ability

// probes are prompts written in the style of benchmarks that the training data lacks. Their features are the anchors
// of these benchmarks.
var probes = map[string][]string{
	"winogrande": {
		"The jar would not fit into the cupboard because the _ was too tall.\nA) jar\nB) cupboard\nAnswer with the letter only.",
		"Maria asked Elena for directions because _ had never been to the town before.\nA) Maria\nB) Elena\nAnswer with the letter only.",
		`Tom lent his bicycle to Kevin, so _ had to walk to school that week.
A) Tom
B) Kevin
Answer with the letter only.`,
		"We painted the fence instead of the shed since the _ had been done last year.\nA) fence\nB) shed\nAnswer with the letter only.",
		"The soup tasted better than the salad because the _ had been seasoned with care.\nA) soup\nB) salad\nAnswer with the letter only.",
		"Nina felt sorry for Laura after the accident, and _ sent flowers to the hospital.\nA) Nina\nB) Laura\nAnswer with the letter only.",
		"The truck was slower than the van on the hill because the _ carried a heavier load.\nA) truck\nB) van\nAnswer with the letter only.",
		"Peter preferred the blanket to the coat at night because the _ was softer.\nA) blanket\nB) coat\nAnswer with the letter only.",
	},
	"choice": {
		"Which part of a plant takes up most of the water it needs?\nA) flower\nB) leaf\nC) root\nD) seed\nAnswer with the letter only.",
		"A student rubs two stones together and they become warm. Which force causes this?\nA) gravity\nB) friction\nC) magnetism\nD) buoyancy\nAnswer with the letter only.",
		"What happens to the particles of water when it freezes?\nA) They move faster.\nB) They disappear.\nC) They slow down and stay in place.\nD) They change into another element.\nAnswer with the letter only.",
		"Why do shadows of trees become longer in the evening?\nA) The trees grow.\nB) The sun stands lower in the sky.\nC) The air becomes colder.\nD) The moon rises.\nAnswer with the letter only.",
		"Which of these is the best way to find out whether salt water boils at a higher temperature than fresh water?\nA) ask a friend\nB) heat both and measure with a thermometer\nC) mix them\nD) weigh them\nAnswer with the letter only.",
		"Foxes that live in cold regions have thick fur. This is an example of\nA) erosion\nB) migration\nC) adaptation\nD) pollination\nAnswer with the letter only.",
	},
	"translation": {
		"Translate the following sentence into German: The train to the coast leaves every hour from platform nine.",
		"Translate from English to Ukrainian and write nothing but the translation: The museum was rebuilt after the fire and opened again in spring.",
		"Translate from English to Swahili and write nothing but the translation: Farmers in the valley have asked the government for help with the harvest.",
		"Please translate to French: \"The committee will publish its report at the end of the month,\" she said.",
		"Translate from English to Tamil and write nothing but the translation: Scientists found a new species of frog near the river last year.",
		"Übersetze ins Englische: Die Besprechung wurde auf nächsten Dienstag verschoben, weil zwei Kolleginnen krank sind.",
	},
	"chat": {
		`Write a short and friendly email to a colleague who is leaving the company after ten years.`,
		"I feel tired every afternoon at work. What could I change in my day?",
		"Give me five ideas for a birthday party for a child who likes dinosaurs.",
		"Explain how vaccines work to a ten-year-old.",
		`What are the advantages and disadvantages of working from home?`,
		"Write a poem about the first snow in a big city.",
		"Can you suggest a plan for a weekend in Lisbon with two teenagers?",
		"How do I ask my landlord to repair the heating without being rude?",
	},
	"code": {
		"Write a function to find the longest word in a given list of words.",
		"Write a python function to check whether two given strings are anagrams of each other.",
		"Write a function that merges two sorted lists into one sorted list.",
		"from typing import List\n\n\ndef running_total(values: List[int]) -> List[int]:\n    \"\"\" Return the list of sums of all values up to each position.\n    >>> running_total([1, 2, 3])\n    [1, 3, 6]\n    \"\"\"",
		"def count_vowels(text: str) -> int:\n    \"\"\" Return how many vowels the text has, upper and lower case.\n    >>> count_vowels('Harbour')\n    3\n    \"\"\"",
		"Write a function to remove all duplicates from a nested list while keeping the order.",
	},
}
