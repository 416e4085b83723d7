package modelserver

import (
	"encoding/json"
	"net/http"
	"time"
)

type chatRequest struct {
	Model         string
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Messages []struct {
		Role    string
		Content content
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters json.RawMessage
		}
	}
	ResponseFormat struct {
		JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
	} `json:"response_format"`
}

func (q *chatRequest) turn() turn {
	t := turn{protocol: "chat", model: q.Model, stream: q.Stream, schema: q.ResponseFormat.JSONSchema.Schema}
	for _, m := range q.Messages {
		n := message{role: m.Role, text: m.Content.text()}
		if m.Role == "tool" {
			n = message{role: "tool", results: 1}
		}
		t.history = append(t.history, n)
	}
	for _, o := range q.Tools {
		t.tools = append(t.tools, tool{name: o.Function.Name, takes: parameters(o.Function.Parameters)})
	}
	return t
}

// chat serves POST /v1/chat/completions (https://platform.openai.com/docs/api-reference/chat).
func (s *Server) chat(w http.ResponseWriter, body []byte) string {
	var req chatRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(w, err)
	}
	r, step := req.turn().answer()

	said := object{"role": "assistant", "content": r.text}
	reason := "stop"
	if r.call != nil {
		reason = "tool_calls"
		said["tool_calls"] = []object{{"index": 0, "id": newID("call_"), "type": "function",
			"function": object{"name": r.call.tool, "arguments": mustJSON(r.call.args)}}}
	}
	usage := object{"prompt_tokens": tokens(body), "completion_tokens": 1 + len(r.text)/4, "total_tokens": tokens(body) + 1 + len(r.text)/4}
	made := object{"id": newID("chatcmpl-"), "created": time.Now().Unix(), "model": req.Model}
	if !req.Stream {
		made["object"] = "chat.completion"
		made["choices"] = []object{{"index": 0, "message": said, "finish_reason": reason, "logprobs": nil}}
		made["usage"] = usage
		writeJSON(w, made)
		return step
	}
	made["object"] = "chat.completion.chunk"
	e := s.events(w)
	chunk := func(delta object, reason any) {
		made["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": nil}}
		e.send("", made)
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	e.words(r.text, func(piece string) { chunk(object{"content": piece}, nil) })
	if calls, ok := said["tool_calls"]; ok {
		chunk(object{"tool_calls": calls}, nil)
	}
	chunk(object{}, reason)
	if req.StreamOptions.IncludeUsage {
		made["choices"], made["usage"] = []object{}, usage
		e.send("", made)
	}
	e.write("data: [DONE]\n\n")
	return step
}
