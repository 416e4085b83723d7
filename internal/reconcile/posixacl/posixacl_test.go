package posixacl

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func FuzzAccessControlList(f *testing.F) {
	list := binary.LittleEndian.AppendUint32(nil, Version)
	for _, e := range [][3]uint16{{UserObj, 6}, {UserObj << 1, 4, 99}, {GroupObj, 0}, {Mask, 4}, {Other, 0}} {
		list = binary.LittleEndian.AppendUint16(list, e[0])
		list = binary.LittleEndian.AppendUint16(list, e[1])
		list = binary.LittleEndian.AppendUint32(list, uint32(e[2]))
	}
	f.Add(list, uint32(0o640))
	f.Add([]byte{2, 0, 0, 0, 1}, uint32(0))
	f.Fuzz(func(t *testing.T, list []byte, mode uint32) {
		before := bytes.Clone(list)
		own, left, err := made(list, mode)
		if err == nil && (left&^mode != 0 || len(own) != len(list)) {
			t.Errorf("mode %o of %o", left, mode)
		}
		owningGroup(list)
		if !bytes.Equal(list, before) {
			t.Error("the list was changed")
		}
	})
}
