package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"time"
)

var timeType = reflect.TypeFor[time.Time]()

// usual is a length, in bytes, that most messages do not exceed.
const usual = 256

// Marshal returns what v points to as bytes: a struct of booleans, numbers, strings, times, and slices, arrays and structs of
// these. Paths and arguments are bytes on Linux, so JSON would not keep them.
func Marshal(v any) []byte {
	value := reflect.ValueOf(v).Elem()
	return appendValue(appendString(make([]byte, 0, usual), value.Type().Name()), value)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendValue(b []byte, v reflect.Value) []byte {
	if v.Type() == timeType {
		return binary.AppendVarint(b, v.Interface().(time.Time).UnixNano())
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		return appendString(b, v.String())
	case reflect.Slice:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return append(b, v.Bytes()...)
		}
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	}
	panic(fmt.Sprintf("control: %v cannot be sent", v.Type())) // which every test of the type shows
}

var errMalformed = errors.New("it is malformed")

// Unmarshal fills what v points to with what Marshal wrote of the same type.
func Unmarshal(data []byte, v any) error {
	value := reflect.ValueOf(v).Elem()
	d := &decoder{data: data}
	if name := string(d.bytes()); d.err == nil && name != value.Type().Name() {
		return fmt.Errorf("it is not a %s", value.Type().Name())
	}
	d.value(value)
	if d.err == nil && len(d.data) > 0 {
		d.err = errMalformed
	}
	return d.err
}

// ReadFile is Unmarshal of all that is left of a file.
func ReadFile(f *os.File, v any) error {
	data, err := io.ReadAll(f)
	if err == nil && len(data) == 0 {
		err = io.EOF
	}
	if err != nil {
		return err
	}
	return Unmarshal(data, v)
}

// decoder reads from data until there is an error.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	d.data, d.err = nil, errMalformed
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

// length reads how many elements follow, each of at least one byte.
func (d *decoder) length() int {
	n := d.uint()
	if n > uint64(len(d.data)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.length()
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) value(v reflect.Value) {
	if d.err != nil {
		return
	}
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		*t = time.Unix(0, d.int())
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		n := d.uint()
		if n > 1 {
			d.fail()
		}
		v.SetBool(n == 1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := d.int()
		if v.OverflowInt(n) {
			d.fail()
		}
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		n := d.uint()
		if v.OverflowUint(n) {
			d.fail()
		}
		v.SetUint(n)
	case reflect.String:
		v.SetString(string(d.bytes()))
	case reflect.Slice:
		d.slice(v)
	case reflect.Array:
		for i := range v.Len() {
			d.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			d.value(v.Field(i))
		}
	default:
		d.err = fmt.Errorf("%v cannot be received", v.Type())
	}
}

// slice leaves one without elements nil.
func (d *decoder) slice(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if b := d.bytes(); len(b) > 0 {
			v.SetBytes(append([]byte(nil), b...))
		}
		return
	}
	n := d.length()
	if n == 0 {
		return
	}
	// Room grows with what has come: the length alone proves nothing.
	list := reflect.MakeSlice(v.Type(), 0, min(n, 1024))
	for range n {
		element := reflect.New(v.Type().Elem()).Elem()
		if d.value(element); d.err != nil {
			return
		}
		list = reflect.Append(list, element)
	}
	v.Set(list)
}
