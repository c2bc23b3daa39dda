package judge

// PairKind is the property of a judge that a built-in pair measures.
type PairKind int

// The kinds of built-in pairs.
const (
	Answered PairKind = iota // one response is better
	Longer                   // both are equally good; the first is longer
	Own                      // both are equally good; the judge wrote the first
)

// KnownPair is a request with two responses of known quality.
type KnownPair struct {
	Kind    PairKind
	Task    string
	Request string
	First   string
	Second  string
	Better  float64 // 1 if First is better, -1 if Second is better, 0 for a tie
}

// Known returns the pairs with a known better response and the pairs of different length.
func Known() []KnownPair {
	answered := func(task, request, good, bad string) KnownPair {
		return KnownPair{Answered, task, request, good, bad, 1}
	}
	longer := func(task, request, long, short string) KnownPair {
		return KnownPair{Longer, task, request, long, short, 0}
	}
	return []KnownPair{
		answered("maths", "What is 17 times 24?", "17 times 24 is 408.", "17 times 24 is 418."),
		answered("maths", "A shirt costs 80 dollars after a discount of 20 percent. What was the original price?", "The original price was 100 dollars.", "The original price was 96 dollars."),
		answered("maths", "How many degrees do the angles of a hexagon have in total?", "They sum to 720 degrees.", "They sum to 540 degrees."),
		answered("reasoning", "Ann is taller than Ben, and Ben is taller than Cleo. Name the shortest person.", "Cleo is the shortest.", "Ben is the shortest."),
		answered("reasoning", "A train leaves at 09:40 and arrives at 11:15. How long is the journey?", "The journey takes 1 hour and 35 minutes.", "The journey takes 2 hours and 35 minutes."),
		answered("reasoning", "All squares are rectangles. Is every rectangle a square?", "No. A rectangle with sides of different length is not a square.", "Yes, because all squares are rectangles."),
		answered("knowledge", "Which planet is closest to the sun?", "Mercury is the closest planet to the sun.", "Venus is the closest planet to the sun."),
		answered("knowledge", "What is the chemical symbol of sodium?", "The symbol of sodium is Na.", "The symbol of sodium is So."),
		answered("knowledge", "What is the capital of Australia?", "Canberra is the capital of Australia.", "Sydney is the capital of Australia."),
		answered("code", "Write a Go expression for the length of the string s in bytes.", "len(s)", "s.length()"),
		answered("code", "In SQL, how do I count the rows of the table users?", "SELECT COUNT(*) FROM users;", "COUNT ROWS users;"),
		answered("code", "In Python, how do I open a file so that it is closed automatically?", "with open(path) as f:\n    data = f.read()", "f = open(path)\ndata = f.read()"),
		answered("translation", "Translate into German: The meeting starts at noon.", "Die Besprechung beginnt um zwölf Uhr mittags.", "Die Besprechung endet um Mitternacht."),
		answered("translation", "Translate into French: I have lost my key.", "J'ai perdu ma clé.", "J'ai trouvé ma clé."),
		answered("extraction", "List the email addresses: Write to ann@example.com or bob@example.org, not to the office.", "ann@example.com, bob@example.org", "ann@example.com, office@example.com"),
		answered("extraction", "Answer only yes or no: is 'The parcel arrived broken' a complaint?", "yes", "The customer writes about a parcel, which may or may not be a complaint depending on the context."),
		answered("chat", "Reply in exactly three words: how are you?", "Fine, thank you.", "I am doing well today, thank you very much for asking!"),
		answered("chat", "Suggest a name for a cat. One word, beginning with M.", "Mittens", "Felix"),
		answered("chat", "Summarise in one sentence: The shop closes early on Friday because of a staff party. Normal hours resume on Saturday.", "The shop closes early on Friday for a staff party and returns to normal hours on Saturday.", "The shop is closed on Saturday."),
		answered("tools", "Tools: get_weather(city). What is the weather in Oslo?", "[calls tool get_weather with {\"city\":\"Oslo\"}]", "[calls tool get_weather with {\"city\":\"Paris\"}]"),
		longer("knowledge", "In which year did the first person walk on the moon?",
			"The first person walked on the moon in the year 1969, which is to say that the year in which a person first walked on the moon was 1969, as is commonly known.", "In 1969."),
		longer("maths", "What is half of 90?",
			"To find half of a number, one divides the number by two. Dividing 90 by two gives 45. The answer to the question is therefore the number 45.", "45"),
		longer("knowledge", "How many continents are there, counting Europe and Asia separately?",
			"If Europe and Asia are counted separately, as the question asks, then the total number of continents is seven, so the number of continents is 7.", "Seven."),
		longer("chat", "Give me one synonym for happy.",
			"Certainly! A word that has a very similar meaning to the word happy, and that can often be used in its place, is the word glad.", "Glad."),
		longer("code", "Which HTTP status code means not found?",
			"The HTTP status code that a server sends when the requested resource could not be found is, by the HTTP standard, the status code 404.", "404"),
		longer("reasoning", "If today is Monday, what day is it in three days?",
			"Today is Monday. One day later it is Tuesday, two days later it is Wednesday, and three days later it is Thursday. So in three days it is Thursday.", "Thursday."),
		longer("translation", "Translate into Spanish: thank you",
			"The translation of the English expression thank you into the Spanish language is: gracias. So the answer is gracias.", "Gracias."),
		longer("extraction", "Which number is in this text? Room 12 is free.",
			"The text that was given contains exactly one number, and that number, which is the number of the room that is free, is 12.", "12"),
	}
}

// familyPairs returns requests with a good response. First is empty: the judge writes it.
func familyPairs() []KnownPair {
	own := func(task, request, reference string) KnownPair {
		return KnownPair{Own, task, request, "", reference, 0}
	}
	return []KnownPair{
		own("knowledge", "What causes the tides? One or two sentences.", "Tides are caused mainly by the gravity of the moon, and to a lesser degree by that of the sun, as the earth turns."),
		own("knowledge", "Why is the sky blue? One or two sentences.", "Air scatters short wavelengths of sunlight more than long ones, so blue light reaches us from all directions of the sky."),
		own("code", "What does a mutex do? One or two sentences.", "A mutex lets only one thread at a time run a section of code, so that threads do not change shared data at the same time."),
		own("maths", "What is a prime number? One or two sentences.", "A prime number is a whole number above 1 that is divisible only by 1 and by itself."),
	}
}
