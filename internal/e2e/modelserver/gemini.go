package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

type geminiRequest struct {
	Contents          []geminiContents
	SystemInstruction geminiContents
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string
			Parameters           json.RawMessage
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		}
	}
	GenerationConfig struct {
		ResponseSchema     json.RawMessage
		ResponseJSONSchema json.RawMessage `json:"responseJsonSchema"`
	}
}

type geminiContents struct {
	Role  string
	Parts []struct {
		Text             string
		FunctionResponse json.RawMessage
	}
}

func (q *geminiRequest) turn(path string) turn {
	_, model, _ := strings.Cut(path, "/models/")
	model, _, _ = strings.Cut(model, ":")
	t := turn{protocol: "gemini", model: model, stream: strings.Contains(path, ":stream")}
	t.schema = append(q.GenerationConfig.ResponseSchema, q.GenerationConfig.ResponseJSONSchema...)
	q.SystemInstruction.Role = "system"
	for _, c := range append([]geminiContents{q.SystemInstruction}, q.Contents...) {
		m := message{role: geminiRole(c.Role)}
		for _, p := range c.Parts {
			m.text += p.Text + "\n"
			if len(p.FunctionResponse) > 0 {
				m.results++
			}
		}
		t.history = append(t.history, m)
	}
	for _, o := range q.Tools {
		for _, f := range o.FunctionDeclarations {
			schema := f.ParametersJSONSchema
			if len(schema) == 0 {
				schema = f.Parameters
			}
			t.tools = append(t.tools, tool{name: f.Name, takes: parameters(schema)})
		}
	}
	return t
}

// gemini serves POST /v1beta/models/MODEL:generateContent and :streamGenerateContent (https://ai.google.dev/api/generate-content).
func (s *Server) gemini(w http.ResponseWriter, path string, body []byte) string {
	var req geminiRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(w, err)
	}
	t := req.turn(path)
	r, step := t.answer()

	id := newID("")
	made := func(parts []object, reason any) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if reason != nil {
			candidate["finishReason"] = reason
		}
		return object{"candidates": []object{candidate}, "modelVersion": t.model, "responseId": id,
			"usageMetadata": object{"promptTokenCount": tokens(body), "candidatesTokenCount": 1 + len(r.text)/4, "totalTokenCount": tokens(body) + 1 + len(r.text)/4}}
	}
	var calls []object
	if r.call != nil {
		calls = append(calls, object{"functionCall": object{"name": r.call.tool, "args": r.call.args}})
	}
	if !t.stream {
		writeJSON(w, made(append([]object{{"text": r.text}}, calls...), "STOP"))
		return step
	}
	e := s.events(w)
	e.words(r.text, func(piece string) { e.send("", made([]object{{"text": piece}}, nil)) })
	if calls == nil {
		calls = []object{{"text": ""}}
	}
	e.send("", made(calls, "STOP"))
	return step
}

// geminiRole names the roles as the other protocols do.
func geminiRole(role string) string {
	switch role {
	case "model":
		return "assistant"
	case "function":
		return "tool"
	}
	return role
}
