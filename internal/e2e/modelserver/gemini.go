package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini serves POST /v1beta/models/MODEL:generateContent and :streamGenerateContent (https://ai.google.dev/api/generate-content).
func (s *Server) gemini(w http.ResponseWriter, path string, body []byte) string {
	type contents struct {
		Role  string
		Parts []struct {
			Text             string
			FunctionResponse json.RawMessage
		}
	}
	var req struct {
		Contents          []contents
		SystemInstruction contents
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
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(w, err)
	}
	_, model, _ := strings.Cut(path, "/models/")
	model, _, _ = strings.Cut(model, ":")
	t := turn{protocol: "gemini", model: model, stream: strings.Contains(path, ":stream")}
	t.schema = append(req.GenerationConfig.ResponseSchema, req.GenerationConfig.ResponseJSONSchema...)
	req.SystemInstruction.Role = "system"
	for _, c := range append([]contents{req.SystemInstruction}, req.Contents...) {
		m := message{role: geminiRole(c.Role)}
		for _, p := range c.Parts {
			m.text += p.Text + "\n"
			if len(p.FunctionResponse) > 0 {
				m.results++
			}
		}
		t.history = append(t.history, m)
	}
	for _, o := range req.Tools {
		for _, f := range o.FunctionDeclarations {
			schema := f.ParametersJSONSchema
			if len(schema) == 0 {
				schema = f.Parameters
			}
			t.tools = append(t.tools, tool{name: f.Name, takes: parameters(schema)})
		}
	}
	r, step := t.answer()

	id := newID("")
	made := func(parts []object, reason any) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if reason != nil {
			candidate["finishReason"] = reason
		}
		return object{"candidates": []object{candidate}, "modelVersion": model, "responseId": id,
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
