package gateway

// signals are what an answer shows by itself, without anybody rating it. They are recorded apart from ratings: each has
// other causes than a bad answer too.
func (x *exchange) signals(finish string) []string {
	var found []string
	switch finish {
	case "length":
		found = append(found, "truncation")
	case "content_filter", "refusal":
		found = append(found, "refusal")
	}
	if x.view.Repeats() {
		found = append(found, "retry")
	}
	return found
}
