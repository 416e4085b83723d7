package modelserver

import (
	"encoding/json"
	"net/http"
)

// anthropic serves POST /v1/messages (https://docs.anthropic.com/en/api/messages).
func (s *Server) anthropic(w http.ResponseWriter, body []byte) string {
	var req struct {
		Model    string
		Stream   bool
		System   content
		Messages []struct {
			Role    string
			Content content
		}
		Tools []struct {
			Name        string
			InputSchema json.RawMessage `json:"input_schema"`
		}
		OutputConfig struct {
			Format struct{ Schema json.RawMessage }
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(w, err)
	}
	t := turn{protocol: "messages", model: req.Model, stream: req.Stream, schema: req.OutputConfig.Format.Schema}
	t.history = append(t.history, message{role: "system", text: req.System.text()})
	for _, m := range req.Messages {
		t.history = append(t.history, message{role: m.Role, text: m.Content.text(), results: m.Content.count("tool_result")})
	}
	for _, o := range req.Tools {
		t.tools = append(t.tools, tool{name: o.Name, takes: parameters(o.InputSchema)})
	}
	r, step := t.answer()

	var blocks []object
	stop := "end_turn"
	if r.text != "" {
		blocks = append(blocks, object{"type": "text", "text": r.text})
	}
	if r.call != nil {
		blocks = append(blocks, object{"type": "tool_use", "id": newID("toolu_"), "name": r.call.tool, "input": r.call.args})
		stop = "tool_use"
	}
	usage := object{"input_tokens": tokens(body), "output_tokens": 1 + len(r.text)/4, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	m := object{"id": newID("msg_"), "type": "message", "role": "assistant", "model": req.Model, "content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": usage}
	if !req.Stream {
		writeJSON(w, m)
		return step
	}
	m["content"], m["stop_reason"] = []object{}, nil
	e := s.events(w)
	e.send("message_start", object{"type": "message_start", "message": m})
	e.send("ping", object{"type": "ping"})
	for i, b := range blocks {
		e.anthropicBlock(i, b)
	}
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	e.send("message_stop", object{"type": "message_stop"})
	return step
}

func (e *events) anthropicBlock(i int, b object) {
	start := func(b object) {
		e.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": b})
	}
	delta := func(d object) {
		e.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d})
	}
	if b["type"] == "text" {
		start(object{"type": "text", "text": ""})
		e.words(b["text"].(string), func(piece string) { delta(object{"type": "text_delta", "text": piece}) })
	} else {
		start(object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}})
		e.words(mustJSON(b["input"]), func(piece string) { delta(object{"type": "input_json_delta", "partial_json": piece}) })
	}
	e.send("content_block_stop", object{"type": "content_block_stop", "index": i})
}
