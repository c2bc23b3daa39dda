package scenario

// Data of stream events that begin, end and fail a chat completion.
const (
	RoleChunk = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	StopChunk = `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	ErrorData = `{"error":{"message":"the engine is overloaded","type":"server_error","code":null}}`
)

// TextChunk returns the data of a stream event that adds text.
func TextChunk(text string) string {
	return `{"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`
}
