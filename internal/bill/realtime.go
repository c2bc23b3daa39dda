package bill

import (
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// Billing classes whose price may be unknown in a realtime session.
const (
	AudioInput    = "input_audio"
	AudioOutput   = "output_audio"
	Transcription = "transcription"
)

// Realtime prices a response of a realtime session. Audio costs a multiple of text, so audio tokens without an audio rate are excluded from
// the total instead of being charged at the text rate.
func Realtime(p *catalog.Price, u llm.Usage) catalog.Bill {
	var excluded []string
	known := PricesAudio(p)
	if !known && p.AudioInput == nil && u.AudioInput > 0 {
		u.Input, u.AudioInput = u.Input-u.AudioInput, 0
		excluded = append(excluded, AudioInput)
	}
	if !known && p.AudioOutput == nil && u.AudioOutput > 0 {
		u.Output, u.AudioOutput = u.Output-u.AudioOutput, 0
		excluded = append(excluded, AudioOutput)
	}
	b := p.Bill(u)
	b.Excluded = append(b.Excluded, excluded...)
	return b
}

// PricesTranscription reports whether the price of transcriptions is known at the given time, per audio token or per request.
// Transcriptions by a free model are free.
func PricesTranscription(p *catalog.Price, at time.Time) bool {
	if p == nil {
		return false
	}
	p = p.At(at)
	return p.AudioInput != nil || p.PerRequest > 0 || p.Input == 0 && p.Output == 0
}

// PricesAudio reports whether the price of audio is known. Audio of a free model is free.
func PricesAudio(p *catalog.Price) bool {
	return p.AudioInput != nil && p.AudioOutput != nil || p.Input == 0 && p.Output == 0
}
