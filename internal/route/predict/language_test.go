package predict

import "testing"

func TestLanguageOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, text string }{
		{"en", "What is the fastest way to learn how to play the piano?"},
		{"de", "Wie kann ich eine Datei in Python öffnen und die Zeilen zählen?"},
		{"fr", "Quelle est la capitale de l'Australie et combien d'habitants y a-t-il dans cette ville ?"},
		{"es", "¿Cuál es la mejor manera de aprender a tocar el piano en casa?"},
		{"it", "Scrivi una lettera per il direttore della scuola che non è venuto."},
		{"pt", "Qual é a melhor forma de aprender uma língua que não se fala em casa?"},
		{"nl", "Hoe kan ik het beste een brief schrijven aan de gemeente over een vergunning?"},
		{"pl", "Jak to jest zrobione i czy są na to jakieś przepisy dla firm?"},
		{"tr", "Bu metin için bir özet ve bir başlık yaz, çok uzun olmasın."},
		{"sv", "Vad är det bästa sättet att lära sig att spela piano och hur lång tid tar det?"},
		{"vi", "Hãy viết cho tôi một bài thơ về mùa thu và những con đường của Hà Nội."},
		{"id", "Bagaimana cara membuat kue ini dengan bahan yang ada di dapur?"},
		{"zh", "请告诉我长城是什么时候建造的。"},
		{"ja", "日本で一番高い山は何ですか。教えてください。"},
		{"ko", "한국에서 가장 높은 산은 무엇입니까?"},
		{"ru", "Какая самая высокая гора в России?"},
		{"uk", "Яка найвища гора в Україні і де її знайти?"},
		{"ar", "ما هي عاصمة فرنسا؟"},
		{"fa", "پایتخت فرانسه کجاست و چگونه باید به آنجا رفت؟"},
		{"he", "מהי בירת צרפת?"},
		{"hi", "फ्रांस की राजधानी क्या है?"},
		{"th", "เมืองหลวงของฝรั่งเศสคืออะไร"},
		{"el", "Ποια είναι η πρωτεύουσα της Γαλλίας;"},
		{"en", "Translate the word 你好 and say what it means in the language of the court."},
		{"", "x = [1, 2, 3]"},
		{"", "12345 ++ --"},
		{"", ""},
	} {
		if got := LanguageOf(c.text); got != c.want {
			t.Errorf("LanguageOf(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
