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
		own, left, _, err := Made(list, mode)
		if err == nil && (left&^mode != 0 || len(own) != len(list)) {
			t.Errorf("mode %o of %o", left, mode)
		}
		owningGroup(list)
		if now, err := Chmod(list, mode); err == nil {
			// A mode of a list without all of its entries has less.
			if left, _, err := Mode(now, 0); err != nil || left&^(mode&0o777) != 0 {
				t.Errorf("mode %o after chmod %o: %v", left, mode, err)
			}
		}
		Translate(list, func(tag uint16, id uint32) (uint32, bool) { return id + 1, true })
		if !bytes.Equal(list, before) {
			t.Error("the list was changed")
		}
	})
}

// acl is a list; entries are tag, permissions, and id.
func acl(entries ...[3]uint32) []byte {
	list := binary.LittleEndian.AppendUint32(nil, Version)
	for _, e := range entries {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

func TestModeAndListInStep(t *testing.T) {
	plain := acl([3]uint32{UserObj, 6}, [3]uint32{GroupObj, 4}, [3]uint32{Other, 0})
	named := acl([3]uint32{UserObj, 6}, [3]uint32{User, 7, 99}, [3]uint32{GroupObj, 4}, [3]uint32{Mask, 5}, [3]uint32{Other, 1})
	if mode, extended, err := Mode(plain, 0o102777); mode != 0o102640 || extended || err != nil {
		t.Errorf("mode of a plain list: %o, %v, %v", mode, extended, err)
	}
	if mode, extended, err := Mode(named, 0o100000); mode != 0o100651 || !extended || err != nil {
		t.Errorf("mode of a list: %o, %v, %v", mode, extended, err)
	}
	want := acl([3]uint32{UserObj, 7}, [3]uint32{User, 7, 99}, [3]uint32{GroupObj, 4}, [3]uint32{Mask, 2}, [3]uint32{Other, 0})
	if got, err := Chmod(named, 0o720); !bytes.Equal(got, want) || err != nil {
		t.Errorf("chmod: %x, %v", got, err)
	}
	want = acl([3]uint32{UserObj, 6}, [3]uint32{User, 7, 99}, [3]uint32{GroupObj, 4}, [3]uint32{Mask, 4}, [3]uint32{Other, 0})
	if got, mode, extended, err := Made(named, 0o100640); !bytes.Equal(got, want) || mode != 0o100640 || !extended || err != nil {
		t.Errorf("made: %x, %o, %v, %v", got, mode, extended, err)
	}
	if _, ok := Translate(named, func(uint16, uint32) (uint32, bool) { return 0, false }); ok {
		t.Error("an id that has no other was translated")
	}
}
